import type { TensorData } from '../dtype.ts';
import type { Program } from '../executor/executor.ts';
import { onnxruntimeExecutor } from '../executor/onnxruntime.ts';
import { assignmentsOf } from '../graph/assignment.ts';
import type { Value } from '../graph/node.ts';
import type { CollectiveGroup, Source } from '../graph/operators.ts';
import { structureOf, type Leaf } from '../graph/structure.ts';
import { emitModel } from './emit.ts';
import { oncePerKey } from './once-per-key.ts';
import { rewrite } from './rewrite.ts';
import { detachedAlready } from './rewrites/detached-already.ts';
import { exactMaxPool } from './rewrites/exact-max-pool.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';
import { SegmentedProgram } from './segmented-program.ts';

/** By the structure of their graphs. */
const programs = oncePerKey<SegmentedProgram>();
const updates = oncePerKey<Program>();

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
  const program = await programs(key, () =>
    SegmentedProgram.compile(
      { leaves, groups },
      [rewrite(all, [detachedAlready, reluAfterMaxPool])],
      (inputs, outputs) => compile('forward', inputs, outputs),
    ),
  );
  await assignments.during((arrays) =>
    program.run(
      { inputs: arraysOf(leaves, arrayOf), outputs: [[...outputs, ...arrays]], groups: groups.map(through) },
      () => undefined,
    ),
  );
}

/** What is done with the memory of what a program computes on the way. */
export interface Memory {
  /** Whether what one half computes waits for the other, see `emitModel`; false unless given. */
  keepsActivations?: boolean;
  /** Whether it is held for the next run; true unless given. */
  holdsMemory?: boolean;
}

/** A program that takes the leaves' arrays, in their order, and gives the outputs. `name` is for who measures it. */
export function compile(
  name: string,
  leaves: readonly Leaf[],
  outputs: readonly Value[],
  { keepsActivations = false, holdsMemory = true }: Memory = {},
): Promise<Program> {
  return onnxruntimeExecutor.compile({
    name,
    model: emitModel(leaves, rewrite(outputs, [exactMaxPool]), keepsActivations),
    inputs: leaves.map(({ value }) => value),
    outputs,
    holdsMemory,
  });
}

/** What a run takes of the leaves of one graph. */
export function arraysOf(
  leaves: readonly Leaf[],
  arrayOf: (source: Source) => TensorData = ({ data }) => data,
): TensorData[] {
  return leaves.map(({ source }) => arrayOf(source));
}

/** Runs a compiled set of assignments on the arrays that it was compiled for. */
export type Update = () => Promise<void>;

/**
 * Compiles assignments of values to arrays that their leaves may read themselves (`p ← p − lr·g`). Each value must be an
 * elementwise function of the array that it goes to, and nothing else may read that array after the assignment's own node: then
 * onnxruntime's writing in place is the assignment.
 */
export async function compileUpdate(
  assignments: readonly { value: Value; into: TensorData }[],
): Promise<Update> {
  const values = assignments.map(({ value }) => value);
  const { leaves, key } = structureOf(values);
  const bytes = assignments.reduce((sum, { into }) => sum + into.byteLength, 0);
  const program = await updates(key, () =>
    compile('optimizer.step', leaves, values, { holdsMemory: bytes < mostHeld }),
  );
  const inputs = arraysOf(leaves);
  const outputs = assignments.map(({ into }) => into);
  return () => program.run(inputs, outputs);
}

/** Bytes. An update's arena holds what the update writes once more; the steps of large models, such as ResNet-18's of 45 MB, are as fast without. */
const mostHeld = 8e6;
