import { describe, expect, test } from 'vitest';
import { DataLoader } from '../../src/data/data-loader.ts';
import type { DataLoaderOptions } from '../../src/data/data-loader-options.ts';
import type { DataShare, IterableDataset } from '../../src/data/dataset.ts';

/** Numbers 0 to `length` - 1, dealt to the shares in turn. */
const dealt = (length: number): IterableDataset<number> => ({
  *iterate({ index, count }: DataShare) {
    for (let number = index; number < length; number += count) yield number;
  },
});

type Options = DataLoaderOptions<number, number[]>;

const loaderOf = (dataset: IterableDataset<number>, options: Options) =>
  new DataLoader(dataset, { collateFn: (samples) => samples, ...options });

async function all<T>(batches: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const batch of batches) list.push(batch);
  return list;
}

describe('an iterable dataset', () => {
  test.each([
    [7, false, [[0, 1, 2], [3, 4, 5], [6]]],
    [
      7,
      true,
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
    ],
    [0, false, []],
  ])('of %i samples is divided into batches, dropLast %s', async (length, dropLast, expected) => {
    expect(await all(loaderOf(dealt(length), { batchSize: 3, dropLast }))).toEqual(expected);
  });

  test.each([1, 2, 3, 5])('yields each sample once over %i ranks', async (numReplicas) => {
    const ranks = Array.from({ length: numReplicas }, (_, rank) =>
      loaderOf(dealt(23), { batchSize: 2, numReplicas, rank }),
    );
    const seen = (await Promise.all(ranks.map(all<number[]>))).flat(2);
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 23 }, (_, i) => i));
  });

  test('receives seed and epoch, which iterations count and setEpoch sets', async () => {
    const passes: string[] = [];
    const dataset: IterableDataset<number> = {
      async *iterate({ seed, epoch, ...share }) {
        passes.push(`${seed}/${epoch}`);
        expect(share).toEqual({ index: 0, count: 1, rank: 0, worldSize: 1, worker: 0, numWorkers: 0 });
        yield await Promise.resolve(1);
      },
    };
    const loader = loaderOf(dataset, { seed: 9 });
    await all(loader);
    await all(loader);
    loader.setEpoch(7);
    await all(loader);
    await all(loader);
    expect(passes).toEqual(['9/0', '9/1', '9/7', '9/8']);
  });

  test('is closed by a loop that ends early', async () => {
    let isClosed = false;
    const dataset: IterableDataset<number> = {
      async *iterate() {
        try {
          for (let i = 0; ; i += 1) yield await Promise.resolve(i);
        } finally {
          isClosed = true;
        }
      },
    };
    for await (const [number] of loaderOf(dataset, {})) if (number === 3) break;
    expect(isClosed).toBe(true);
  });

  test('creates samples from its items in batch, one batch at a time', async () => {
    const dataset = {
      *iterate() {
        yield* ['1', '2', '3'];
      },
      batch: async (texts: readonly string[]) => await Promise.resolve(texts.map(Number)),
    };
    const loader = new DataLoader<number, number[]>(dataset, {
      batchSize: 2,
      collateFn: (samples) => samples,
    });
    expect(await all(loader)).toEqual([[1, 2], [3]]);
  });

  test.each([0, 1, 2, 5, 8])('resumes after %i batches without making the earlier ones', async (before) => {
    const made: number[] = [];
    const dataset: IterableDataset<number> = {
      iterate: ({ epoch }) => Array.from({ length: 15 }, (_, i) => 100 * epoch + i),
      batch: (items) => {
        made.push(...items);
        return [...items];
      },
    };
    const first = loaderOf(dataset, { batchSize: 2 });
    await all(first);
    const batches = first[Symbol.asyncIterator]();
    for (let step = 0; step < before; step += 1) await batches.next();
    const state = structuredClone(first.stateDict());
    const rest = await all({ [Symbol.asyncIterator]: () => batches });

    const resumed = loaderOf(dataset, { batchSize: 2 });
    resumed.loadStateDict(state);
    made.length = 0;
    expect(await all(resumed)).toEqual(rest);
    expect(made).toEqual(rest.flat());
    expect((await all(resumed)).flat()[0]).toBe(200);
  });

  test('has a length only if the dataset has one', () => {
    expect(() => loaderOf(dealt(3), {}).length).toThrow(
      'expected a length of the iterable dataset, got none',
    );
    const known = { ...dealt(23), length: 23 };
    expect(loaderOf(known, { batchSize: 4, numReplicas: 2, rank: 0 }).length).toBe(3);
  });
});

describe('rejects', () => {
  const indexed = { length: 3, at: (index: number) => index };
  test('options of the other kind of dataset', () => {
    expect(() => loaderOf(dealt(3), { shuffle: true })).toThrow('got shuffle with an iterable dataset');
    expect(() => new DataLoader(indexed, { numReplicas: 2 })).toThrow('use a DistributedSampler');
    expect(() => loaderOf(dealt(3), { numReplicas: 2, rank: 2 })).toThrow(
      'rank must be an integer from 0 to 1, got 2',
    );
  });

  test('a loop without await, and a sampler', () => {
    expect(() => [...loaderOf(dealt(3), {})]).toThrow('Write `for await');
    expect(() => loaderOf(dealt(3), {}).sampler).toThrow('expected a dataset with indices');
  });

  test('a state in the middle of an epoch that was divided otherwise', async () => {
    const loader = loaderOf(dealt(30), { batchSize: 3 });
    const batches = loader[Symbol.asyncIterator]();
    await batches.next();
    const state = loader.stateDict();
    await batches.return();
    expect(() => {
      loaderOf(dealt(30), { batchSize: 4 }).loadStateDict(state);
    }).toThrow('with batchSize 4, got one with 3');
  });
});
