import { AsyncLocalStorage } from 'node:async_hooks';
import { NnError } from '../errors/errors.ts';
import type { ManagedBuffer } from './managed-buffer.ts';

/** A queued operation: a backward pass, an optimizer step, or the computation of a tensor's elements. */
export interface Operation {
  /** As users write it: `optimizer.step()`. */
  readonly name: string;
  /** True if later operations depend on its effect, as for backward passes and optimizer steps. */
  readonly changes: boolean;
  /** `identity` of the memory of parameters and buffers that it reads or changes. Called only while the operation is pending. */
  readonly memory: () => ReadonlySet<object>;
}

/** An operation that has been called. */
export class QueuedOperation {
  readonly operation: Operation;
  hasEnded = false;
  /** Failure of this operation, or of an earlier one that it depends on. */
  failure: { readonly name: string; readonly error: unknown } | undefined;
  /** Calls the operation that follows. */
  next: (() => void) | undefined;

  constructor(operation: Operation) {
    this.operation = operation;
    pending.add(this);
  }

  /** Records that the operation failed. `end` must follow. */
  fail(error: unknown): void {
    const { changes, name } = this.operation;
    this.failure ??= changes ? { name, error } : undefined;
  }

  end(): void {
    this.hasEnded = true;
    pending.delete(this);
    this.next?.();
  }
}

/** Pending operations, in the order of the calls. */
const pending = new Set<QueuedOperation>();
/** The operation that the currently running code belongs to, such as the communication hook of a backward pass. */
const current = new AsyncLocalStorage<QueuedOperation>();
/** The operation that is running or ran last. */
let running: QueuedOperation | undefined;

/**
 * Calls user code, or code that may call it, such as a communication hook: its operations run immediately, as
 * part of the running operation. Operations call it themselves, because the first call of AsyncLocalStorage makes every
 * later promise of the process slower on Node 20.
 */
export function insideOperation<Result>(call: () => Result): Result {
  if (running === undefined || running.hasEnded || isInsideOperation()) return call();
  return current.run(running, call);
}

/**
 * Runs an operation after all earlier ones, so that operations run in the order of the calls even if they are not
 * awaited, as in an eager framework.
 *
 * If an earlier operation with an effect fails, operations that were called before it ended do not run. They reject with
 * its error as their cause, because their caller did not await it. See `insideOperation` for nested operations.
 */
export async function enqueue<Result>(operation: Operation, run: () => Promise<Result>): Promise<Result> {
  if (isInsideOperation()) return await run();
  const before = lastElement(pending);
  const queued = new QueuedOperation(operation);
  if (before !== undefined) {
    await new Promise<void>((resolve) => {
      before.next = resolve;
    });
  }
  try {
    queued.failure = before?.failure;
    if (queued.failure) throw notRunError(operation, queued.failure);
    running = queued;
    return await run();
  } catch (error) {
    queued.fail(error);
    throw error;
  } finally {
    queued.end();
  }
}

/**
 * Begins an operation without a promise, if none is pending. `end` must follow.
 *
 * @returns undefined if another operation is pending: call `enqueue`
 */
export function beginAtOnce(operation: Operation): QueuedOperation | undefined {
  return pending.size === 0 ? (running = new QueuedOperation(operation)) : undefined;
}

/** True while an operation calls a synchronous function of the user. */
let isCalledByOperation = false;

/** Calls a function of the user that an operation needs, such as the loss of a step: its changes apply immediately. */
export function calledByOperation<Result>(call: () => Result): Result {
  const before = isCalledByOperation;
  isCalledByOperation = true;
  try {
    return call();
  } finally {
    isCalledByOperation = before;
  }
}

/** Makes a synchronous change: immediately if no operation is pending, else after the pending ones. */
export function enqueueChange(name: string, change: () => void): void {
  // If an earlier operation fails, the change is skipped and later operations report the failure.
  changeAfterPending(name, change)?.catch(() => undefined);
}

/** Like `enqueueChange`. Returns a promise that rejects if the change is skipped; undefined if it was made immediately. */
export function changeAfterPending(name: string, change: () => void): Promise<void> | undefined {
  if (pending.size === 0 || isCalledByOperation || isInsideOperation()) {
    change();
    return undefined;
  }
  return enqueue({ name, changes: true, memory: () => new Set() }, async () => {
    change();
    return Promise.resolve();
  });
}

/**
 * For functions that block the event loop while they compute, after all earlier operations.
 *
 * @throws NnError (ERR_NOT_AWAITED) if an operation is pending
 */
export function requireIdle(where: string): void {
  if (pending.size === 0) return;
  const [{ operation }] = pending;
  throw stillRunning(where, operation.name);
}

/**
 * For synchronous functions, which cannot wait in the queue.
 *
 * @param tensors parameters and buffers that the function reads or changes
 * @param besideReads if true, operations without an effect may be pending. Default: false.
 * @throws NnError (ERR_NOT_AWAITED) if an operation on one of the tensors is pending
 */
export function requireNothingPending(
  where: string,
  tensors: Iterable<{ readonly memory: ManagedBuffer }>,
  { besideReads = false }: { besideReads?: boolean } = {},
): void {
  if (pending.size === 0 || isInsideOperation()) return;
  const own = [...tensors].map(({ memory }) => memory.identity);
  for (const { operation } of pending) {
    if (besideReads && !operation.changes) continue;
    const concerned = operation.memory();
    if (own.some((one) => concerned.has(one))) {
      throw stillRunning(where, operation.name);
    }
  }
}

function stillRunning(where: string, name: string): NnError {
  return new NnError('ERR_NOT_AWAITED', `${where}: ${name} is still running. Await it first: await ${name}.`);
}

function isInsideOperation(): boolean {
  return current.getStore()?.hasEnded === false;
}

function lastElement<T>(set: ReadonlySet<T>): T | undefined {
  let last: T | undefined;
  for (const element of set) last = element;
  return last;
}

function notRunError(
  { name }: Operation,
  { name: failed, error }: NonNullable<QueuedOperation['failure']>,
): NnError {
  const reason = error instanceof Error ? error.message : String(error);
  return new NnError(
    'ERR_NOT_AWAITED',
    `${name}: not run, because the earlier ${failed}, which was not awaited, failed: ${reason} Write await ${failed}.`,
    { cause: error },
  );
}
