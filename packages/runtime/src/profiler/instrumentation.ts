import { recordActivity } from '@ringrun/core';
import { ddpEvents } from '../ddp/events.ts';

/**
 * Runs a function and records it in the trace under a name (torch.profiler.record_function). For an async
 * function, the recorded time lasts until its promise settles.
 *
 * @returns the function's return value
 */
export function recordFunction<Result>(name: string, run: () => Result): Result {
  const startedAt = performance.now();
  const end = () => {
    recordActivity('function', name, startedAt, performance.now());
  };
  let result: Result | undefined;
  try {
    result = run();
    return result;
  } finally {
    if (result instanceof Promise) result.then(end, end);
    else end();
  }
}

/** Yields the same batches and measures the time the loop waits for each as `input`. */
export async function* timedInput<Batch>(
  loader: Iterable<Batch> | AsyncIterable<Batch>,
): AsyncGenerator<Batch, void> {
  const batches = Symbol.asyncIterator in loader ? loader[Symbol.asyncIterator]() : loader[Symbol.iterator]();
  try {
    for (;;) {
      const startedAt = performance.now();
      const next = await batches.next();
      recordActivity('input', 'next batch', startedAt, performance.now());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await batches.return?.();
  }
}

/** Records the time that training with DistributedDataParallel waits for other ranks. */
export function recordWaits(): void {
  ddpEvents.on('waited', (awaited, startedAt, endedAt, step) => {
    recordActivity('waiting', awaited, startedAt, endedAt, step === undefined ? undefined : { step });
  });
}
