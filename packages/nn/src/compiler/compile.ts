import type { TensorData } from '../dtype.ts';
import type { Program } from '../executor/executor.ts';
import { onnxruntimeExecutor } from '../executor/onnxruntime.ts';
import { assignmentsOf } from '../graph/assignment.ts';
import { sizeOf, type Value } from '../graph/node.ts';
import type { CollectiveGroup, Source } from '../graph/operators.ts';
import { structureOf, type Leaf } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { emitModel } from './emit.ts';
import { programShapeOf } from './churn.ts';
import { Programs } from './program-cache.ts';
import { rewrite } from './rewrite.ts';
import { detachedAlready } from './rewrites/detached-already.ts';
import { exactMaxPool } from './rewrites/exact-max-pool.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';
import { SegmentedProgram } from './segmented-program.ts';
import { announcedIfSlow } from './slow-compilation.ts';

/** By the structure of their graphs. */
const programs = new Programs<SegmentedProgram>();
const updates = new Programs<UpdatePrograms>();

/** Gives what stands for a group in one run; the group itself unless a run is recorded or replayed. */
export type Through = (group: CollectiveGroup) => CollectiveGroup;

/** What one run reads and whom it meets; the leaves' own arrays and groups are the default. */
export interface RunOptions {
  readonly through?: Through;
  /** The array that is read for a leaf. */
  readonly arrayOf?: (source: Source) => TensorData;
}

/** Computes values from the leaves' present contents, into the given arrays, and brings about what the graph assigns. */
export async function evaluate(
  values: readonly Value[],
  outputs: readonly TensorData[],
  { through = (group) => group, arrayOf }: RunOptions = {},
): Promise<void> {
  const assignments = assignmentsOf(values);
  const all = [...values, ...assignments.values];
  const { leaves, groups, key } = structureOf(all);
  const shape = () => programShapeOf(all, leaves);
  const make = () =>
    announcedIfSlow('the forward pass', shape(), () =>
      SegmentedProgram.compile(
        { leaves, groups },
        [rewrite(all, [detachedAlready, reluAfterMaxPool])],
        (inputs, outputs) => compile('forward', inputs, outputs),
      ),
    );
  const run = async (program: SegmentedProgram) => {
    await leavesToArrive(leaves);
    await assignments.during((arrays) =>
      program.run(
        {
          inputs: arraysOf(leaves, arrayOf),
          outputs: [[...outputs, ...arrays]],
          groups: groups.map(through),
        },
        () => undefined,
      ),
    );
  };
  await programs.use(key, make, run, shape);
}

/** What is done with the memory of what a program computes on the way. */
export interface Memory {
  /** Whether what one half computes waits for the other, see `emitModel`. Default: false. */
  keepsActivations?: boolean;
  /** Whether its memory is kept for the next run. Default: true. */
  holdsMemory?: boolean;
}

/** A program that takes the leaves' arrays, in their order, and gives the outputs. `name` is for who measures it. */
export function compile(
  name: string,
  leaves: readonly Leaf[],
  outputs: readonly Value[],
  { keepsActivations = false, holdsMemory = true }: Memory = {},
): Promise<Program> {
  const isLong = isLongAndSmall(outputs);
  return onnxruntimeExecutor.compile({
    name,
    model: emitModel(leaves, rewrite(outputs, [exactMaxPool]), keepsActivations && !isLong),
    inputs: leaves.map(({ value }) => value),
    outputs,
    holdsMemory,
    isLong,
  });
}

/**
 * Resolves when the elements that leaves are to read have come, such as a model's buffers from another rank. Before `assignments.during`, whose targets are among the
 * leaves.
 */
export async function leavesToArrive(leaves: readonly Leaf[]): Promise<void> {
  for (const { source } of leaves) {
    const arrived = source.arrived?.();
    if (arrived) await arrived;
  }
}

/** Whether there are so many operators that compiling them is what takes time, and whether the memory of what they compute is of no concern. */
function isLongAndSmall(outputs: readonly Value[]): boolean {
  const order = topologicalOrder(outputs);
  if (order.length < longGraph) return false;
  const elements = order.flatMap((node) => node.outputs).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  return elements * Float32Array.BYTES_PER_ELEMENT < smallActivations;
}

/** Nodes. A training step of ResNet-18 has about 1,200. */
const longGraph = 2500;

/** Bytes, of all arrays that a graph computes. */
const smallActivations = 2 ** 29;

/** What a run takes of the leaves of one graph. */
export function arraysOf(
  leaves: readonly Leaf[],
  arrayOf: (source: Source) => TensorData = ({ data }) => data,
): TensorData[] {
  return leaves.map(({ source }) => arrayOf(source));
}

/** A value, and the array that it goes to. */
export interface Assignment {
  readonly value: Value;
  readonly into: TensorData;
}

/** Carries out assignments on the arrays that it was made for. */
export type Update = () => Promise<void>;

/**
 * An update by programs that are compiled when it first runs, of assignments of values to arrays that their leaves may read themselves (`p ← p − lr·g`). Each value must be
 * an elementwise function of the array that it goes to, and nothing else may read that array after the assignment's own node: then onnxruntime's writing in place is the
 * assignment.
 *
 * @param portions the assignments of each program, which run one after the other
 */
export function updateOf(portions: readonly (readonly Assignment[])[]): Update {
  const parts = portions.map((assignments) => partOf(assignments));
  const key = parts.map((part) => part.key).join('|');
  const make = () => UpdatePrograms.compile(parts);
  const run = async (programs: UpdatePrograms) => {
    for (const { key, inputs, outputs } of parts) await programs.get(key).run(inputs, outputs);
  };
  return () => updates.use(key, make, run);
}

function partOf(assignments: readonly Assignment[]) {
  const values = assignments.map(({ value }) => value);
  const { leaves, key } = structureOf(values);
  return { values, leaves, key, inputs: arraysOf(leaves), outputs: assignments.map(({ into }) => into) };
}

/** The programs of one update, by the structure of their graphs. */
class UpdatePrograms {
  readonly #programs: ReadonlyMap<string, Program>;

  private constructor(programs: ReadonlyMap<string, Program>) {
    this.#programs = programs;
  }

  static async compile(parts: readonly ReturnType<typeof partOf>[]): Promise<UpdatePrograms> {
    const programs = new Map<string, Program>();
    const made = new UpdatePrograms(programs);
    try {
      for (const { key, leaves, values, outputs } of parts) {
        if (programs.has(key)) continue;
        const bytes = outputs.reduce((sum, { byteLength }) => sum + byteLength, 0);
        programs.set(key, await compile('optimizer.step', leaves, values, { holdsMemory: bytes < mostHeld }));
      }
    } catch (error) {
      await made.release();
      throw error;
    }
    return made;
  }

  get(key: string): Program {
    return this.#programs.get(key)!;
  }

  async release(): Promise<void> {
    for (const program of this.#programs.values()) await program.release();
  }
}

/** Bytes. An update's arena holds what the update writes once more; the steps of large models, such as ResNet-18's of 45 MB, are as fast without. */
const mostHeld = 8e6;
