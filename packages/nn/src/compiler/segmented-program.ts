import { observed } from '../activity.ts';
import type { TensorData } from '../dtype.ts';
import type { Program } from '../executor/executor.ts';
import type { CollectiveNode } from '../graph/collective.ts';
import { sizeOf, type Value } from '../graph/node.ts';
import type { CollectiveGroup } from '../graph/operators.ts';
import { structureOf, type Leaf, type Structure } from '../graph/structure.ts';
import { substitute } from '../graph/substitute.ts';
import { perform } from '../ops/collective.ts';
import { cut, leafFor, type Segment } from './cut.ts';
import { stagesOf, type Stage } from './stages.ts';

/** Compiles a graph that reads the leaves' arrays and gives the outputs. */
export type Compile = (leaves: readonly Leaf[], outputs: readonly Value[]) => Promise<Program>;

/** An array of the program's own, or the position of the one that is given to a run. */
type Place = TensorData | number;

interface CompiledStage {
  /** None where there is nothing to compute, only something to tell. */
  readonly program: Program | undefined;
  readonly inputs: readonly Place[];
  readonly outputs: readonly Place[];
  readonly exchange: Exchange | undefined;
  readonly delivers: number | undefined;
}

/** A collective on arrays of the program's own. */
interface Exchange {
  readonly node: CollectiveNode;
  /** Among the groups that are given to a run. */
  readonly group: number;
  readonly inputs: readonly Float32Array[];
  readonly outputs: readonly Float32Array[];
}

/** What one run is given, in the order of the program's structure. */
export interface Bindings {
  /** The leaves' arrays. */
  readonly inputs: readonly TensorData[];
  /** The arrays that each part writes. */
  readonly outputs: readonly (readonly TensorData[])[];
  /** Who takes part in the collectives. */
  readonly groups: readonly CollectiveGroup[];
}

/** A graph in parts, of which each delivers some of the outputs before the next one begins, with the collectives in it: see `stagesOf`. */
export class SegmentedProgram {
  readonly #stages: readonly CompiledStage[];

  private constructor(stages: readonly CompiledStage[]) {
    this.#stages = stages;
  }

  /**
   * @param structure of the whole graph, whose leaves and groups runs are given
   * @param parts the outputs of each part
   */
  static async compile(
    { leaves, groups }: Pick<Structure, 'leaves' | 'groups'>,
    parts: readonly (readonly Value[])[],
    compile: Compile,
  ): Promise<SegmentedProgram> {
    const positions = new Map(leaves.map(({ value }, position) => [value, position]));
    const stages = stagesOf(parts);
    const { asked, received } = withoutCollectives(stages, parts.flat());
    const compiled = cut(asked).map(async (segment, index) => {
      const { gives, collective, delivers } = stages[index];
      const exchange = collective && exchangeOf(collective, groups, received);
      const places = [...gives, ...(exchange?.inputs ?? [])];
      return { ...(await compileSegment(segment, places, positions, compile)), exchange, delivers };
    });
    const settled = await Promise.allSettled(compiled);
    const made = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const program = new SegmentedProgram(made);
    if (made.length < compiled.length) await program.release();
    await Promise.all(compiled);
    return program;
  }

  /** Frees the memory of all stages; no run comes after it. */
  async release(): Promise<void> {
    for (const { program } of this.#stages) await program?.release();
  }

  /**
   * Runs stage after stage. What they hand to each other lies in one place for all runs, so one run ends before the next begins.
   *
   * @param delivered called with the number of a part when its outputs are there
   */
  async run({ inputs, outputs, groups }: Bindings, delivered: (part: number) => void): Promise<void> {
    const given = outputs.flat();
    for (const stage of this.#stages) {
      const feeds = stage.inputs.map((place) => (typeof place === 'number' ? inputs[place] : place));
      const fetches = stage.outputs.map((place) => (typeof place === 'number' ? given[place] : place));
      await stage.program?.run(feeds, fetches);
      const { exchange, delivers } = stage;
      if (exchange) {
        const { node, group, inputs: sent, outputs: received } = exchange;
        await observed('waiting', node.op, () => perform(node, groups[group], sent, received));
      }
      if (delivers !== undefined) delivered(delivers);
    }
  }
}

/** What each stage computes, its collective's inputs last, as a graph in which leaves stand for what collectives give. */
function withoutCollectives(
  stages: readonly Stage[],
  wanted: readonly Value[],
): { asked: Value[][]; received: ReadonlyMap<Value, Leaf> } {
  const outputs = stages.flatMap(({ collective }) => collective?.outputs ?? []);
  const received = new Map(outputs.map((output) => [output, leafFor(output)]));
  const asked = stages.map(({ gives, collective }) => [
    ...gives.map((position) => wanted[position]),
    ...(collective?.inputs ?? []),
  ]);
  const leaves = new Map([...received].map(([output, { value }]) => [output, value]));
  // All at once: what two stages share stays one node.
  const substituted = substitute(asked.flat(), leaves);
  return { asked: asked.map(({ length }) => substituted.splice(0, length)), received };
}

async function compileSegment(
  { outputs, carried }: Segment,
  places: readonly Place[],
  positions: ReadonlyMap<Value, number>,
  compile: Compile,
): Promise<Pick<CompiledStage, 'program' | 'inputs' | 'outputs'>> {
  const values = [...outputs, ...carried.map(({ value }) => value)];
  const { leaves } = structureOf(values);
  return {
    program: values.length === 0 ? undefined : await compile(leaves, values),
    inputs: leaves.map(({ value, source }) => positions.get(value) ?? source.data),
    outputs: [...places, ...carried.map(({ leaf }) => leaf.source.data)],
  };
}

function exchangeOf(
  node: CollectiveNode,
  groups: readonly CollectiveGroup[],
  received: ReadonlyMap<Value, Leaf>,
): Exchange {
  return {
    node,
    group: groups.indexOf(node.attributes.group),
    inputs: node.inputs.map(({ shape }) => new Float32Array(sizeOf(shape))),
    outputs: node.outputs.map((output) => received.get(output)!.source.data as Float32Array),
  };
}
