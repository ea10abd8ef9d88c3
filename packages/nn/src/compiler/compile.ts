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
const updates = new ProgramCache<UpdatePrograms>();

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
 * Creates an update that assigns values to arrays that their own leaves read (`p ← p − lr·g`). Its programs are compiled on
 * the first run. Each value must be an elementwise function of its target, and no other node may read the target after
 * the assignment, because onnxruntime writes in place.
 *
 * @param portions the assignments of each program; programs run one after another
 */
export function inPlaceUpdate(portions: readonly (readonly ArrayAssignment[])[]): InPlaceUpdate {
  const parts = portions.map((assignments) => prepareUpdate(assignments));
  const key = parts.map((part) => part.key).join('|');
  const make = () => UpdatePrograms.compile(parts);
  const run = async (programs: UpdatePrograms) => {
    for (const { key, inputs, outputs } of parts) await programs.get(key).run(inputs, outputs);
  };
  return () => updates.use(key, make, run);
}

function prepareUpdate(assignments: readonly ArrayAssignment[]) {
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

  static async compile(parts: readonly ReturnType<typeof prepareUpdate>[]): Promise<UpdatePrograms> {
    const programs = new Map<string, Program>();
    const made = new UpdatePrograms(programs);
    try {
      for (const { key, leaves, values, outputs } of parts) {
        if (programs.has(key)) continue;
        const bytes = outputs.reduce((sum, { byteLength }) => sum + byteLength, 0);
        programs.set(
          key,
          await compile('optimizer.step', leaves, values, { holdsMemory: bytes < maxHeldBytes, fuses: true }),
        );
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

/** An arena holds a second copy of the outputs. Updates of large models, such as the 45 MB of ResNet-18, are as fast without. */
const maxHeldBytes = 8e6;
