import { onnxruntimeExecutor } from '../executor/onnxruntime.ts';
import type { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import { changeBy, recordChange, type Change } from './changes.ts';
import type { Node, Value } from './node.ts';
import { topologicalOrder } from './topology.ts';

/** A tensor that forward calls change, such as a running mean: the leaf that reads it, and its memory. */
export interface Assignable {
  readonly value: Value;
  readonly memory: ManagedBuffer;
}

/** Returns the new values of tensors. `read` returns a tensor's value after earlier assignments in the same graph. */
export type AssignmentRule = (
  read: (target: Assignable) => Value,
) => readonly (readonly [target: Assignable, value: Value])[];

interface Pending {
  readonly update: AssignmentRule;
  /** Has the time of the forward call, which orders assignments. */
  readonly change: Change;
  done: boolean;
}

const pendingAt = new WeakMap<Node, Pending>();

/**
 * Attaches an assignment to a value. Because forward calls compute nothing, the assignment happens once, in the first run of
 * any graph that contains the value.
 */
export function assignWhenRun({ node }: Value, update: AssignmentRule): void {
  pendingAt.set(node, { update, change: changeBy('a forward call in training mode'), done: false });
}

/** The assignments of the next run of a graph. */
export interface Assignments {
  /** The values to assign, computed by the same program as the graph. */
  readonly values: readonly Value[];
  /**
   * Runs `compute`, which fills one buffer for each value, then assigns them. If it fails, nothing changes and the next run
   * assigns.
   *
   * @returns the result of `compute`
   */
  during<Result>(compute: (buffers: readonly ValueBuffer[]) => Promise<Result>): Promise<Result>;
}

/** @param order all nodes of the graph, if known */
export function assignmentsOf(
  outputs: readonly Value[],
  order: readonly Node[] = topologicalOrder(outputs),
): Assignments {
  const pending = pendingOf(order);
  if (pending.length === 0) return none;
  const current = new Map<Assignable, Value>();
  const changes = new Map<Assignable, Change>();
  for (const { update, change } of pending) {
    const assigned = update((target) => current.get(target) ?? target.value);
    for (const [target, value] of assigned) {
      current.set(target, value);
      changes.set(target, change);
    }
  }
  return {
    values: [...current.values()],
    during: (compute) => assignOnce(pending, changes, compute),
  };
}

const none: Assignments = { values: [], during: (compute) => compute([]) };

/** The assignments that have not happened, in the order of the calls. */
function pendingOf(order: readonly Node[]): readonly Pending[] {
  const pending: Pending[] = [];
  for (const node of order) {
    const one = pendingAt.get(node);
    if (one?.done === false) pending.push(one);
  }
  return pending.sort((a, b) => a.change.at - b.change.at);
}

async function assignOnce<Result>(
  pending: readonly Pending[],
  changes: ReadonlyMap<Assignable, Change>,
  compute: (buffers: readonly ValueBuffer[]) => Promise<Result>,
): Promise<Result> {
  // Another run of the same graph may have started while this one was compiled.
  const first = pending.every(({ done }) => !done);
  const targets = [...changes.keys()];
  const buffers = targets.map(({ value }) => onnxruntimeExecutor.allocate(value));
  for (const one of pending) one.done = true;
  let result: Result;
  try {
    result = await compute(buffers);
  } catch (error) {
    if (first) for (const one of pending) one.done = false;
    throw error;
  }
  if (!first) return result;
  for (const [index, target] of targets.entries()) {
    const { memory } = target;
    onnxruntimeExecutor.move(buffers[index], memory.forWriting());
    // DistributedDataParallel broadcasts the array, and reads it without a call.
    memory.toHost();
    recordChange(target.value, changes.get(target)!);
  }
  return result;
}
