import type { TensorData } from '../dtype.ts';
import type { Program } from '../executor/executor.ts';
import { assignmentsOf } from '../graph/assignment.ts';
import type { Value } from '../graph/node.ts';
import type { CollectiveGroup, Source } from '../graph/operators.ts';
import { structureOf, type Leaf } from '../graph/structure.ts';
import { compile } from './compile-graph.ts';
import { summarizeProgram } from './recompilation-warning.ts';
import { ProgramCache } from './program-cache.ts';
import { rewrite } from './rewrite.ts';
import { removeIdentity } from './rewrites/remove-identity.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';
import { GraphProgram } from './graph-program.ts';
import { warnIfSlow } from './slow-compilation.ts';

/** By graph structure. */
const programs = new ProgramCache<GraphProgram>();
const updates = new ProgramCache<Program>();

/** Replaces the groups of the collectives in one run, to record or replay them. Default: the groups themselves. */
export type ReplaceGroup = (group: CollectiveGroup) => CollectiveGroup;

/** Inputs and groups of one run. Default: the leaves' own arrays and the graph's groups. */
export interface RunOptions {
  readonly replaceGroup?: ReplaceGroup;
  /** Returns the array to read for a leaf. */
  readonly arrayOf?: (source: Source) => TensorData;
}

/** Computes values from the leaves' current contents into `outputs`, and executes the graph's assignments. */
export async function evaluate(
  values: readonly Value[],
  outputs: readonly TensorData[],
  { replaceGroup = (group) => group, arrayOf }: RunOptions = {},
): Promise<void> {
  const assignments = assignmentsOf(values);
  const all = [...values, ...assignments.values];
  const { leaves, groups, key } = structureOf(all);
  const shape = () => summarizeProgram(all, leaves);
  const make = () =>
    warnIfSlow('the forward pass', shape(), () =>
      GraphProgram.compile('forward', { leaves, groups }, rewrite(all, [removeIdentity, reluAfterMaxPool])),
    );
  const run = async (program: GraphProgram) => {
    await waitForLeaves(leaves);
    await assignments.during(async (arrays) => {
      await program.run({
        inputs: arraysOf(leaves, arrayOf),
        outputs: [...outputs, ...arrays],
        groups: groups.map(replaceGroup),
      });
    });
  };
  await programs.use(key, make, run, shape);
}

/**
 * Waits until the elements of all leaves have been received, such as a model's buffers from another rank. Call it before
 * `assignments.during`, whose targets are among the leaves.
 */
export async function waitForLeaves(leaves: readonly Leaf[]): Promise<void> {
  for (const { source } of leaves) {
    const arrived = source.arrived?.();
    if (arrived) await arrived;
  }
}

/** The arrays that a run reads, one for each leaf. */
export function arraysOf(
  leaves: readonly Leaf[],
  arrayOf: (source: Source) => TensorData = ({ data }) => data,
): TensorData[] {
  return leaves.map(({ source }) => arrayOf(source));
}

/** A value and the array that it is written to. */
export interface ArrayAssignment {
  readonly value: Value;
  readonly into: TensorData;
}

/** Runs assignments on the arrays that it was created for. */
export type InPlaceUpdate = () => Promise<void>;

/**
 * Creates an update that assigns values to arrays that their own leaves read (`p ← p − lr·g`). Its program is compiled on the
 * first run. Each value must be an elementwise function of its target, and no other node may read the target after the
 * assignment, because onnxruntime writes in place.
 */
export function inPlaceUpdate(assignments: readonly ArrayAssignment[]): InPlaceUpdate {
  if (assignments.length === 0) return () => Promise.resolve();
  const values = assignments.map(({ value }) => value);
  const { leaves, key } = structureOf(values);
  const inputs = arraysOf(leaves);
  const outputs = assignments.map(({ into }) => into);
  const make = () => compile('optimizer.step', leaves, values, { fuses: true });
  const run = async (program: Program) => {
    await program.run(inputs, outputs);
  };
  return () => updates.use(key, make, run);
}
