// Loops of ranks whose shares of an iterable dataset differ in length. Argument: the way to end. Each rank prints its
// numbers, or its error.
import { DataLoader, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';
import type { DataShare, IterableDataset } from 'ringrun';
import { errorOf } from './fixtures/error-of.ts';

const [way, ...counts] = process.argv.slice(2);
/** Rank r has 100 r, 100 r + 1, … */
const dataset: IterableDataset<number> = {
  *iterate({ rank }: DataShare) {
    for (let i = 0; i < Number(counts[rank]); i += 1) yield 100 * rank + i;
  },
};
const ways = {
  repeat: {},
  drop: { dropLast: true },
  once: { evenDivisible: false },
};
await initProcessGroup();
const collateFn = (samples: number[]) => samples;
const loader = new DataLoader(dataset, { batchSize: 2, collateFn, ...ways[way as keyof typeof ways] });
for (let epoch = 0; epoch < 2; epoch += 1) {
  const seen: number[][] = [];
  const failure = await errorOf(async () => {
    for await (const batch of loader) seen.push(batch);
  });
  console.log(`rank ${getRank()} epoch ${epoch}: ${failure?.message ?? JSON.stringify(seen)}`);
}
await destroyProcessGroup();
