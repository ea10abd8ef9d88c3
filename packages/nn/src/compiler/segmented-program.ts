import type { TensorData } from '../dtype.ts';
import type { Program } from '../executor/executor.ts';
import type { Value } from '../graph/node.ts';
import { structureOf, type Leaf } from '../graph/structure.ts';
import { cut, type Segment } from './cut.ts';

/** Compiles a graph that reads the leaves' arrays and gives the outputs. */
export type Compile = (leaves: readonly Leaf[], outputs: readonly Value[]) => Promise<Program>;

/** An array of the program's own, or the position of the one that is given to a run. */
type Place = TensorData | number;

interface CompiledSegment {
  readonly program: Program;
  readonly inputs: readonly Place[];
  readonly carried: readonly TensorData[];
}

/** A graph in parts, of which each delivers some of the outputs before the next one begins. */
export class SegmentedProgram {
  readonly #segments: readonly CompiledSegment[];

  private constructor(segments: readonly CompiledSegment[]) {
    this.#segments = segments;
  }

  /**
   * @param leaves of the whole graph, in the order in which runs are given their arrays
   * @param wanted the outputs of each part
   */
  static async compile(
    leaves: readonly Leaf[],
    wanted: readonly (readonly Value[])[],
    compile: Compile,
  ): Promise<SegmentedProgram> {
    const positions = new Map(leaves.map(({ value }, position) => [value, position]));
    const segments = cut(wanted).map((segment) => compileSegment(segment, positions, compile));
    return new SegmentedProgram(await Promise.all(segments));
  }

  /**
   * Runs part after part. What they hand to each other lies in one place for all runs, so one run ends before the next begins.
   *
   * @param inputs the leaves' arrays
   * @param outputs the arrays that each part writes
   * @param written called with the number of a part when its outputs are there
   */
  async run(
    inputs: readonly TensorData[],
    outputs: readonly (readonly TensorData[])[],
    written: (part: number) => void,
  ): Promise<void> {
    for (const [part, segment] of this.#segments.entries()) {
      const feeds = segment.inputs.map((place) => (typeof place === 'number' ? inputs[place] : place));
      await segment.program.run(feeds, [...outputs[part], ...segment.carried]);
      written(part);
    }
  }
}

async function compileSegment(
  { outputs, carried }: Segment,
  positions: ReadonlyMap<Value, number>,
  compile: Compile,
): Promise<CompiledSegment> {
  const values = [...outputs, ...carried.map(({ value }) => value)];
  const { leaves } = structureOf(values);
  return {
    program: await compile(leaves, values),
    inputs: leaves.map(({ value, source }) => positions.get(value) ?? source.data),
    carried: carried.map(({ leaf }) => leaf.source.data),
  };
}
