import type { MadeBatch } from '../workers/messages.ts';
import type { BatchMaker } from './batch-maker.ts';
import type { Plan } from './plan.ts';

/** The batches of a plan, in order. Requests as many ahead as the maker allows, except while batches are skipped. */
export async function* batchesOf<Batch>(maker: BatchMaker<Batch>, plan: Plan): AsyncGenerator<Batch, void> {
  const requested: { reader: number; loading: Promise<MadeBatch | undefined> }[] = [];
  const request = (count: number) => {
    while (requested.length < count) {
      const next = plan.next();
      if (!next) return;
      const loading = maker.load(next.reader, next.wanted);
      // Batches after a failed one are not awaited.
      loading.catch(() => undefined);
      requested.push({ reader: next.reader, loading });
    }
  };
  for (;;) {
    request(plan.skips > 0 ? 1 : Math.max(1, maker.ahead));
    const next = requested.shift();
    if (!next) return;
    const made = await maker.waitFor(next.loading);
    if (!made) {
      plan.ended(next.reader);
    } else if (plan.skips > 0) {
      plan.skipped();
      maker.reclaim(made);
    } else {
      request(maker.ahead);
      yield maker.finish(made);
      maker.reclaim(made);
      await maker.pause();
    }
  }
}
