import { AsyncLocalStorage } from 'node:async_hooks';
import type { TensorData } from './dtype.ts';
import { NnError } from './errors.ts';

/** What takes its turn: a backward pass, an optimizer step, or the computation of a tensor's elements. */
export interface Operation {
  /** As users write it: `optimizer.step()`. */
  readonly name: string;
  /** Whether later operations see its effect, as they do of backward passes and steps. */
  readonly changes: boolean;
  /** The arrays of the parameters and buffers that it reads or changes; asked for only while the operation is pending. */
  readonly arrays: () => ReadonlySet<TensorData>;
}

interface Turn {
  readonly operation: Operation;
  isOver: boolean;
  /** Why this operation, or one before it in whose effect it relies, did not succeed. */
  failure: { readonly name: string; readonly error: unknown } | undefined;
}

/** The operations that are not over, in the order of the calls. */
const pending = new Set<Turn>();
/** The turn whose operation runs the present code, such as the communication hook of a backward pass. */
const current = new AsyncLocalStorage<Turn>();
let end: Promise<unknown> = Promise.resolve();

/**
 * Runs an operation when all earlier ones are over, so that their order is that of the calls, as in an eager framework, whether each was awaited or not.
 *
 * If an earlier operation that changes something fails, those that were called before it was over do not run, and reject with its error as their cause: their caller did
 * not await it, and would not learn of it. What an operation calls itself runs within its turn.
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

/** Makes a change that takes no time: now if no operation is pending, else in its turn. */
export function changeInTurn(name: string, change: () => void): void {
  if (pending.size === 0 || isWithinTurn()) {
    change();
    return;
  }
  // Without the operation before it, the change is left out, and what follows learns why.
  void inTurn({ name, changes: true, arrays: () => new Set() }, async () => {
    change();
    return Promise.resolve();
  }).catch(() => undefined);
}

/**
 * For functions that return at once, and so cannot wait for their turn.
 *
 * @param tensors parameters and buffers that the function reads or changes
 * @param beside whether operations that change nothing may be pending
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
        `${where}: ${operation.name} is not over. Await it first: await ${operation.name}.`,
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
    `${name}: did not run, because ${failed}, which was called before it and not awaited, failed: ${reason} Write await ${failed}.`,
    { cause: error },
  );
}
