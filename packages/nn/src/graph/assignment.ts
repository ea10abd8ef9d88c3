import type { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
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

/** An assignment that {@link assignWhenRun} attached to a node. */
interface PendingAssignment {
  readonly update: AssignmentRule;
  /** Has the time of the forward call, which orders assignments. */
  readonly change: Change;
  done: boolean;
}

/**
 * Attaches an assignment to a value. Because forward calls compute nothing, the assignment happens once, in the first run of
 * any graph that contains the value.
 */
export function assignWhenRun({ node }: Value, update: AssignmentRule): void {
  const change = changeBy('a forward call in training mode');
  node.assignment = { update, change, done: false } satisfies PendingAssignment;
}

/** The assignments of the next run of a graph. */
export interface Assignments {
  /** The values to assign, computed by the same program as the graph. */
  readonly values: readonly Value[];
  /**
   * Runs `compute`, which fills one buffer of a memory for each value, then assigns them. If it fails, nothing changes and the
   * next run assigns.
   *
   * @returns the result of `compute`
   */
  during<Result>(
    memory: ValueMemory,
    compute: (buffers: readonly ValueBuffer[]) => Promise<Result>,
  ): Promise<Result>;
  /** `during`, for a function that blocks until the buffers are filled. */
  duringSync(memory: ValueMemory, compute: (buffers: readonly ValueBuffer[]) => void): void;
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
    during: async (memory, compute) => {
      const run = new AssigningRun(pending, changes, memory);
      let result;
      try {
        result = await compute(run.buffers);
      } catch (error) {
        run.fail();
        throw error;
      }
      run.assign();
      return result;
    },
    duringSync: (memory, compute) => {
      const run = new AssigningRun(pending, changes, memory);
      try {
        compute(run.buffers);
      } catch (error) {
        run.fail();
        throw error;
      }
      run.assign();
    },
  };
}

const none: Assignments = {
  values: [],
  during: (_, compute) => compute([]),
  duringSync: (_, compute) => {
    compute([]);
  },
};

/** The assignments that have not happened, in the order of the calls. */
function pendingOf(order: readonly Node[]): readonly PendingAssignment[] {
  const pending: PendingAssignment[] = [];
  for (const node of order) {
    const one = node.assignment as PendingAssignment | undefined;
    if (one?.done === false) pending.push(one);
  }
  return pending.sort((a, b) => a.change.at - b.change.at);
}

/** A run that computes assignments. */
class AssigningRun {
  /** One buffer for each value. */
  readonly buffers: readonly ValueBuffer[];
  readonly #pending: readonly PendingAssignment[];
  readonly #changes: ReadonlyMap<Assignable, Change>;
  /** Another run of the same graph may have started while this one was compiled. */
  readonly #isFirst: boolean;
  readonly #memory: ValueMemory;

  constructor(
    pending: readonly PendingAssignment[],
    changes: ReadonlyMap<Assignable, Change>,
    memory: ValueMemory,
  ) {
    this.#memory = memory;
    this.#pending = pending;
    this.#changes = changes;
    this.#isFirst = pending.every(({ done }) => !done);
    this.buffers = [...changes.keys()].map(({ value }) => memory.allocate(value));
    for (const one of pending) one.done = true;
  }

  /** Leaves the assignments to the next run. */
  fail(): void {
    if (this.#isFirst) for (const one of this.#pending) one.done = false;
  }

  assign(): void {
    if (!this.#isFirst) return;
    const targets = [...this.#changes.keys()];
    this.#memory.move(
      targets.map(({ memory }, index) => [this.buffers[index], memory.forWriting(this.#memory)]),
    );
    for (const [{ value }, change] of this.#changes) recordChange(value, change);
  }
}
