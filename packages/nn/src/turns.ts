import { AsyncLocalStorage } from 'node:async_hooks';
import type { TensorData } from './dtype.ts';
import { NnError } from './errors.ts';

/** A queued operation: a backward pass, an optimizer step, or the computation of a tensor's elements. */
export interface Operation {
  /** As users write it: `optimizer.step()`. */
  readonly name: string;
  /** True if later operations depend on its effect, as for backward passes and optimizer steps. */
  readonly changes: boolean;
  /** Arrays of the parameters and buffers that it reads or changes. Called only while the operation is pending. */
  readonly arrays: () => ReadonlySet<TensorData>;
}

interface Turn {
  readonly operation: Operation;
  isOver: boolean;
  /** Failure of this operation, or of an earlier one that it depends on. */
  failure: { readonly name: string; readonly error: unknown } | undefined;
}

/** Pending operations, in the order of the calls. */
const pending = new Set<Turn>();
/** The turn of the currently running code, such as the communication hook of a backward pass. */
const current = new AsyncLocalStorage<Turn>();
let end: Promise<unknown> = Promise.resolve();

/**
 * Runs an operation after all earlier ones, so that operations run in the order of the calls even if they are not
 * awaited, as in an eager framework.
 *
 * If an earlier operation with an effect fails, operations that were called before it ended do not run. They reject with
 * its error as their cause, because their caller did not await it. Nested operations run within the turn of their caller.
 */
export function inTurn<Result>(operation: Operation, run: () => Promise<Result>): Promise<Result> {
  if (isWithinTurn()) return run();
  const before = lastOf(pending);
  const turn: Turn = { operation, isOver: false, failure: undefined };
  pending.add(turn);
  const result = end.then(async () => {
    try {
      if (before?.failure) throw didNotRun(operation, before.failure);
      return await current.run(turn, run);
    } catch (error) {
      turn.failure = before?.failure ?? (operation.changes ? { name: operation.name, error } : undefined);
      throw error;
    } finally {
      turn.isOver = true;
      pending.delete(turn);
    }
  });
  end = result.catch(() => undefined);
  return result;
}

/** Makes a synchronous change: immediately if no operation is pending, else in its turn. */
export function changeInTurn(name: string, change: () => void): void {
  if (pending.size === 0 || isWithinTurn()) {
    change();
    return;
  }
  // If an earlier operation fails, the change is skipped and later operations report the failure.
  void inTurn({ name, changes: true, arrays: () => new Set() }, async () => {
    change();
    return Promise.resolve();
  }).catch(() => undefined);
}

/**
 * For synchronous functions, which cannot wait for their turn.
 *
 * @param tensors parameters and buffers that the function reads or changes
 * @param beside true if operations without an effect may be pending
 * @throws NnError (ERR_NOT_AWAITED) if an operation on one of the tensors is pending
 */
export function requireNothingPending(
  where: string,
  tensors: Iterable<{ readonly data: TensorData }>,
  { besideReads = false }: { besideReads?: boolean } = {},
): void {
  if (pending.size === 0 || isWithinTurn()) return;
  const arrays = [...tensors].map(({ data }) => data);
  for (const { operation } of pending) {
    if (besideReads && !operation.changes) continue;
    const concerned = operation.arrays();
    if (arrays.some((array) => concerned.has(array))) {
      throw new NnError(
        'ERR_NOT_AWAITED',
        `${where}: ${operation.name} is still running. Await it first: await ${operation.name}.`,
      );
    }
  }
}

function isWithinTurn(): boolean {
  return current.getStore()?.isOver === false;
}

function lastOf<T>(set: ReadonlySet<T>): T | undefined {
  let last: T | undefined;
  for (const element of set) last = element;
  return last;
}

function didNotRun({ name }: Operation, { name: failed, error }: NonNullable<Turn['failure']>): NnError {
  const reason = error instanceof Error ? error.message : String(error);
  return new NnError(
    'ERR_NOT_AWAITED',
    `${name}: not run, because the earlier ${failed}, which was not awaited, failed: ${reason} Write await ${failed}.`,
    { cause: error },
  );
}
