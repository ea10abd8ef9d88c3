import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { DataLoader } from '../../src/data/data-loader.ts';
import type { Batched } from '../../src/data/collate.ts';
import type { BatchMemory, DataPass } from '../../src/data/dataset.ts';

const numbers = ({ data }: Batched) => Array.from(data, Number);

async function all(batches: AsyncIterable<Batched>): Promise<number[][]> {
  const list: number[][] = [];
  for await (const batch of batches) list.push(numbers(batch));
  return list;
}

/** Sample i is i; later samples of a batch resolve first. */
const backwards = (length: number) => ({
  length,
  at: async (index: number) => {
    await setTimeout(4 - (index % 4));
    return index;
  },
});

describe('a dataset that returns promises', () => {
  test('yields the same batches as one that does not', async () => {
    const options = { batchSize: 4, shuffle: true, seed: 2 };
    const expected = new DataLoader({ length: 10, at: (index: number) => index }, options);
    const loader = new DataLoader(backwards(10), options);
    for (let epoch = 0; epoch < 2; epoch += 1) expect(await all(loader)).toEqual(await all(expected));
  });

  test('reads a whole batch at once, and prefetchFactor batches ahead of the loop', async () => {
    let open = 0;
    let most = 0;
    const begun: number[] = [];
    const at = async (index: number) => {
      begun.push(index);
      open += 1;
      most = Math.max(most, open);
      await setTimeout(1);
      open -= 1;
      return index;
    };
    const loader = new DataLoader({ length: 100, at }, { batchSize: 5, prefetchFactor: 3 });
    const batches = loader[Symbol.asyncIterator]();
    await batches.next();
    await batches.next();
    // Two batches for the loop, and three ahead.
    expect(begun).toHaveLength(25);
    expect(most).toBeGreaterThanOrEqual(5);
    await batches.return();
  });

  test('may have a batch that returns a promise, whose memory is reused', async () => {
    const batch = async (indices: readonly number[], _pass?: DataPass, memory?: BatchMemory) => {
      await setTimeout(1);
      const whole = memory!.array('Float32Array', indices.length);
      whole.set(indices);
      return indices.map((_, position) => whole.subarray(position, position + 1));
    };
    const dataset = { length: 7, at: (index: number) => Float32Array.of(index), batch };
    const kept: Float32Array[] = [];
    const seen: number[] = [];
    for await (const { data } of new DataLoader(dataset, { batchSize: 3, reuseMemory: true })) {
      seen.push(...data);
      kept.push(data);
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(kept.slice(0, 2).map(({ length }) => length)).toEqual([0, 0]);
  });

  test('ends the loop with the first error in the order of the batches', async () => {
    const at = async (index: number) => {
      await setTimeout(index === 9 ? 0 : 2);
      if (index === 9 || index === 4) throw new RangeError(`sample ${index} is damaged`);
      return index;
    };
    const seen: number[] = [];
    const loop = async () => {
      for await (const batch of new DataLoader({ length: 12, at }, { batchSize: 2 }))
        seen.push(...numbers(batch));
    };
    await expect(loop()).rejects.toThrow('sample 4 is damaged');
    expect(seen).toEqual([0, 1, 2, 3]);
  });

  test('needs a loop with await', () => {
    expect(() => [...new DataLoader(backwards(3))]).toThrow('Write `for await');
  });
});
