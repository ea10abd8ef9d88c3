import { timed } from '@ringrun/core';
import type { TensorData } from '../dtype.ts';
import type { Program } from '../executor/executor.ts';
import type { CollectiveNode } from '../graph/collective.ts';
import { sizeOf, type Value } from '../graph/node.ts';
import type { CollectiveGroup } from '../graph/operators.ts';
import { structureOf, type Leaf, type Structure } from '../graph/structure.ts';
import { substitute } from '../graph/substitute.ts';
import { perform } from '../ops/collective.ts';
import { partition, leafFor, type Segment } from './partition.ts';
import { stagesOf, type Stage } from './stages.ts';

/** Compiles a graph that reads the leaves' arrays and computes the outputs. */
export type Compile = (leaves: readonly Leaf[], outputs: readonly Value[]) => Promise<Program>;

/** An array owned by the program, or the position of an array that is passed to `run`. */
type ArrayRef = TensorData | number;

interface CompiledStage {
  /** Undefined if the stage computes nothing. */
  readonly program: Program | undefined;
  readonly inputs: readonly ArrayRef[];
  readonly outputs: readonly ArrayRef[];
  readonly collective: BoundCollective | undefined;
  readonly deliveredPart: number | undefined;
}

/** A collective on arrays owned by the program. */
interface BoundCollective {
  readonly node: CollectiveNode;
  /** Index into the groups that are passed to `run`. */
  readonly group: number;
  readonly inputs: readonly Float32Array[];
  readonly outputs: readonly Float32Array[];
}

/** Arguments of one run, in the order of the program's structure. */
export interface Bindings {
  /** The leaves' arrays. */
  readonly inputs: readonly TensorData[];
  /** The arrays that each part writes. */
  readonly outputs: readonly (readonly TensorData[])[];
  /** Groups of the collectives. */
  readonly groups: readonly CollectiveGroup[];
}

/** A graph compiled in parts and cut at its collectives. Each part delivers its outputs before the next one begins (see `stagesOf`). */
export class SegmentedProgram {
  readonly #stages: readonly CompiledStage[];

  private constructor(stages: readonly CompiledStage[]) {
    this.#stages = stages;
  }

  /**
   * @param structure leaves and groups of the whole graph, in the order in which `run` takes them
   * @param parts the outputs of each part
   */
  static async compile(
    { leaves, groups }: Pick<Structure, 'leaves' | 'groups'>,
    parts: readonly (readonly Value[])[],
    compile: Compile,
  ): Promise<SegmentedProgram> {
    const positions = new Map(leaves.map(({ value }, position) => [value, position]));
    const stages = stagesOf(parts);
    const { requested, received } = withoutCollectives(stages, parts.flat());
    const compiled = partition(requested).map(async (segment, index) => {
      const { outputs, collective: node, deliveredPart } = stages[index];
      const collective = node && bindCollective(node, groups, received);
      const targets = [...outputs, ...(collective?.inputs ?? [])];
      const compiledSegment = await compileSegment(segment, targets, positions, compile);
      return { ...compiledSegment, collective, deliveredPart };
    });
    const settled = await Promise.allSettled(compiled);
    const made = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const program = new SegmentedProgram(made);
    if (made.length < compiled.length) await program.release();
    await Promise.all(compiled);
    return program;
  }

  /** Frees the memory of all stages. The program cannot run afterwards. */
  async release(): Promise<void> {
    for (const { program } of this.#stages) await program?.release();
  }

  /**
   * Runs the stages in order. Values between stages use the same arrays in every run, so runs must not overlap.
   *
   * @param delivered called with the index of a part when its outputs are complete
   */
  async run({ inputs, outputs, groups }: Bindings, delivered: (part: number) => void): Promise<void> {
    const targets = outputs.flat();
    for (const stage of this.#stages) {
      const feeds = stage.inputs.map((ref) => (typeof ref === 'number' ? inputs[ref] : ref));
      const fetches = stage.outputs.map((ref) => (typeof ref === 'number' ? targets[ref] : ref));
      await stage.program?.run(feeds, fetches);
      const { collective, deliveredPart } = stage;
      if (collective) {
        const { node, group, inputs: sent, outputs: received } = collective;
        await timed('waiting', node.op, () => perform(node, groups[group], sent, received));
      }
      if (deliveredPart !== undefined) delivered(deliveredPart);
    }
  }
}

/** The values that each stage computes, its collective's inputs last. Leaves replace the collectives' outputs. */
function withoutCollectives(
  stages: readonly Stage[],
  values: readonly Value[],
): { requested: Value[][]; received: ReadonlyMap<Value, Leaf> } {
  const outputs = stages.flatMap(({ collective }) => collective?.outputs ?? []);
  const received = new Map(outputs.map((output) => [output, leafFor(output)]));
  const requested = stages.map(({ outputs, collective }) => [
    ...outputs.map((position) => values[position]),
    ...(collective?.inputs ?? []),
  ]);
  const leaves = new Map([...received].map(([output, { value }]) => [output, value]));
  // In one call, so that nodes that two stages share stay shared.
  const substituted = substitute(requested.flat(), leaves);
  return { requested: requested.map(({ length }) => substituted.splice(0, length)), received };
}

async function compileSegment(
  { outputs, carried }: Segment,
  targets: readonly ArrayRef[],
  positions: ReadonlyMap<Value, number>,
  compile: Compile,
): Promise<Pick<CompiledStage, 'program' | 'inputs' | 'outputs'>> {
  const values = [...outputs, ...carried.map(({ value }) => value)];
  const { leaves } = structureOf(values);
  return {
    program: values.length === 0 ? undefined : await compile(leaves, values),
    inputs: leaves.map(({ value, source }) => positions.get(value) ?? source.data),
    outputs: [...targets, ...carried.map(({ leaf }) => leaf.source.data)],
  };
}

function bindCollective(
  node: CollectiveNode,
  groups: readonly CollectiveGroup[],
  received: ReadonlyMap<Value, Leaf>,
): BoundCollective {
  return {
    node,
    group: groups.indexOf(node.attributes.group),
    inputs: node.inputs.map(({ shape }) => new Float32Array(sizeOf(shape))),
    outputs: node.outputs.map((output) => received.get(output)!.source.data as Float32Array),
  };
}
