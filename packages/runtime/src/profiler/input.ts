import { tell } from './activity.ts';

/** The same batches; how long the loop waits for each is measured as input. */
export async function* timedInput<Batch>(
  loader: Iterable<Batch> | AsyncIterable<Batch>,
): AsyncGenerator<Batch, void> {
  const batches = Symbol.asyncIterator in loader ? loader[Symbol.asyncIterator]() : loader[Symbol.iterator]();
  try {
    for (;;) {
      const startedAt = performance.now();
      const next = await batches.next();
      tell('input', 'next batch', startedAt, performance.now());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await batches.return?.();
  }
}
