import type { TensorData } from '../dtype.ts';
import { NnError } from '../errors/errors.ts';
import type { GraphCall, Program } from '../executor/executor.ts';
import { executorOf } from '../executor/select.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import { assignmentsOf } from '../graph/assignment.ts';
import type { Value } from '../graph/node.ts';
import type { CollectiveGroup } from '../graph/attributes.ts';
import type { Source } from '../graph/source.ts';
import { structureOf, type Leaf, type StructureKey } from '../graph/structure.ts';
import { definitionOf } from './program-definition.ts';
import { summarizeProgram } from './recompilation-warning.ts';
import { ExecutorKey, ProgramCache } from './program-cache.ts';
import { rewrite } from './rewrite.ts';
import { removeIdentity } from './rewrites/remove-identity.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { together } from '../executor/maybe-promise.ts';
import { GraphProgram } from './graph-program.ts';
import type { StepUpdate } from './step-update.ts';
import { ChangingStructures } from './segments/changing-structures.ts';
import { SegmentedGraph } from './segments/segmented-graph.ts';
import { warnIfSlow, warnIfSlowSync } from './slow-compilation.ts';

/** By executor and graph structure. */
const programs = new ProgramCache<ExecutorKey<StructureKey>, GraphProgram>();
const structures = new ChangingStructures('a value that is read');
const updates = new ProgramCache<ExecutorKey<StructureKey>, Program>();

/** Replaces the groups of the collectives in one run, to record or replay them. Default: the groups themselves. */
export type ReplaceGroup = (group: CollectiveGroup) => CollectiveGroup;

/** Returns the buffer that a run reads for a leaf, in the memory of its executor. */
export type BufferOf = (source: Source, memory: ValueMemory) => ValueBuffer;

/** Inputs and groups of one run. Default: the leaves' own elements and the graph's groups. */
export interface RunOptions {
  readonly replaceGroup?: ReplaceGroup | undefined;
  readonly bufferOf?: BufferOf | undefined;
}

/** Computes values from the leaves' current contents, and executes the graph's assignments. Returns the elements. */
export async function evaluate(
  values: readonly Value[],
  { replaceGroup = (group) => group, bufferOf }: RunOptions = {},
): Promise<readonly TensorData[]> {
  const { executor, assignments, structure, key, shape, rewritten, inSegments } = forwardOf(values);
  const { leaves, groups } = structure;
  const outputs = values.map((value) => executor.allocate(value));
  const inputs = () => buffersOf(leaves, executor, bufferOf);
  const segments = inSegments();
  const make = () =>
    warnIfSlow(forwardPass, shape(), () => GraphProgram.compile(executor, 'forward', structure, rewritten()));
  const run = async (program: GraphProgram) => {
    await arrivalOf(leaves);
    await assignments.during(executor, async (assigned) => {
      await program.run({
        inputs: inputs(),
        outputs: [...outputs, ...assigned],
        groups: groups.map(replaceGroup),
      });
    });
  };
  if (segments) {
    await arrivalOf(leaves);
    await assignments.during(executor, (assigned) => segments.run(inputs(), [...outputs, ...assigned]));
  } else await programs.use(key, make, run, shape);
  return await together(outputs.map((output) => executor.download(output)));
}

/**
 * `evaluate` into arrays, which blocks the event loop: for values whose elements depend on no collective and no pending operation.
 *
 * @param where the public method, in errors
 * @throws NnError (ERR_NOT_AWAITED) if they depend on a collective, or on elements that are being received
 */
export function evaluateSync(values: readonly Value[], arrays: readonly TensorData[], where: string): void {
  const { executor, assignments, structure, key, shape, rewritten, inSegments } = forwardOf(values);
  const { leaves, groups } = structure;
  requireNoOtherRanks(where, leaves, groups);
  const segments = inSegments();
  const compile = () => {
    const summary = shape();
    const compiled = warnIfSlowSync(forwardPass, summary, () =>
      GraphProgram.compileSync(executor, 'forward', leaves, rewritten()),
    );
    programs.addReady(key, compiled, summary);
    return compiled;
  };
  const program = segments ?? programs.ready(key) ?? compile();
  const outputs = arrays.map((array) => executor.keep(array));
  assignments.duringSync(executor, (assigned) => {
    program.runSync(buffersOf(leaves, executor), [...outputs, ...assigned]);
  });
  for (const [index, array] of arrays.entries()) executor.read(outputs[index], array);
}

/** Communication with other ranks needs a running event loop. */
function requireNoOtherRanks(
  where: string,
  leaves: readonly Leaf[],
  groups: readonly CollectiveGroup[],
): void {
  const isReceived = !leaves.every(isAvailable);
  if (groups.length === 0 && !isReceived) return;
  const reason = isReceived
    ? 'elements that the tensor depends on are being received from another rank'
    : 'the tensor depends on a collective, such as one of SyncBatchNorm, which needs the event loop';
  throw new NnError('ERR_NOT_AWAITED', `${where}: ${reason}. Write await x.array() or await x.item().`);
}

const forwardPass = 'the forward pass';

/** Computes values: a graph with its assignments. */
function forwardOf(values: readonly Value[]) {
  const order = topologicalOrder(values);
  const assignments = assignmentsOf(values, order);
  const isWhole = assignments.values.length === 0;
  const all = isWhole ? values : [...values, ...assignments.values];
  const structure = isWhole ? structureOf(all, order) : structureOf(all);
  const executor = executorOf(structure.leaves);
  const key = new ExecutorKey(executor, structure.key);
  const shape = () => summarizeProgram(all, structure.leaves);
  const rewritten = () =>
    executor.prepareForward(rewrite(all, [removeIdentity, reluAfterMaxPool]), 'evaluation');
  return {
    executor,
    key,
    assignments,
    structure,
    shape,
    /** The graph as a chain of segments; undefined if it is compiled. Call it once for a run. */
    inSegments: () =>
      structures.segmentsOf({
        structure,
        isCompiled: programs.has(key),
        summary: shape,
        cut: () => SegmentedGraph.of(executor, structure.leaves, rewritten()),
      }),
    rewritten,
  };
}

/**
 * Resolves when the elements of all leaves have been received, such as a model's buffers from another rank; undefined if
 * none are pending. Await it before `assignments.during`, whose targets are among the leaves.
 */
export function arrivalOf(leaves: readonly Leaf[]): Promise<unknown> | undefined {
  let pending: Promise<void>[] | undefined;
  for (const { source } of leaves) {
    const arrived = source.arrived?.();
    if (arrived) (pending ??= []).push(arrived);
  }
  return pending && Promise.all(pending);
}

/** False while the elements of a leaf are being received from another rank. */
export function isAvailable({ source }: Leaf): boolean {
  return source.isAvailable !== false;
}

/** The buffers that a run reads, one for each leaf. */
export function buffersOf(
  leaves: readonly Leaf[],
  memory: ValueMemory,
  bufferOfLeaf: BufferOf = bufferOf,
): ValueBuffer[] {
  return leaves.map(({ source }) => bufferOfLeaf(source, memory));
}

/** The buffer that a run reads for a leaf. */
export function bufferOf(source: Source, memory: ValueMemory): ValueBuffer {
  return source.bufferIn?.(memory) ?? memory.upload(source.data);
}

/**
 * Runs the assignments of an update, which has at least one, on the buffers that their own leaves read (`p ← p − lr·g`). Each
 * value must be an elementwise function of its target, and no other node may read the target after the assignment, because
 * onnxruntime writes in place.
 *
 * @param calls the calls of a shared update, in the order of the program
 */
export async function updateInPlace(
  { key, leaves, assignments, shared }: StepUpdate,
  calls: readonly GraphCall[],
): Promise<void> {
  const executor = executorOf(leaves);
  const make = () => {
    const outputs = assignments.map(({ value }) => value);
    const update = { leaves, outputs, reads: new Map(), shared };
    return executor.compile(definitionOf('optimizer.step', [], [], { purpose: 'update', update }));
  };
  await updates.use(new ExecutorKey(executor, key), make, async (program: Program) => {
    const inputs = buffersOf(leaves, executor);
    await program.run(
      inputs,
      assignments.map(({ into }) => into.forWriting(executor)),
      calls,
    );
  });
}
