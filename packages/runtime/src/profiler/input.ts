import { recordActivity } from '@ringrun/core';

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
