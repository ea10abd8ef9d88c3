import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import {
  DataLoader,
  DistributedSampler,
  datasetFromModule,
  iterableDatasetFromModule,
} from '../../dist/data/index.js';
import type { Batched } from '../../dist/data/index.js';
import { builtFile } from '../../../../test/support/built-script.ts';
import type { Dealt } from './fixtures/dealt.ts';
import type { Square } from './fixtures/squares.ts';
import { images } from './noise-images.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../support/plain-workers.ts');
  return await plainWorkers(original);
});

const fixture = (name: string) => builtFile(new URL(`fixtures/${name}.ts`, import.meta.url));
const squares = async (options: object) => await datasetFromModule<Square>(fixture('squares'), options);

async function all<T>(batches: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const batch of batches) list.push(batch);
  return list;
}

describe('batches', () => {
  test.each([
    [1, 1],
    [2, 2],
    [3, 1],
    [4, 3],
  ])(
    'of %i workers that prefetch %i equal those without workers, in order',
    async (numWorkers, prefetchFactor) => {
      const options = { batchSize: 7, shuffle: true, seed: 3 };
      const without = new DataLoader(images(100), options);
      const withThem = new DataLoader(images(100), { ...options, numWorkers, prefetchFactor });
      for (let epoch = 0; epoch < 2; epoch += 1) {
        const batches = await all(withThem);
        expect(batches).toHaveLength(15);
        expect(batches).toEqual(await all(without));
      }
    },
  );

  test('come from numWorkers threads other than the loop’s', async () => {
    const loader = new DataLoader(await squares({ length: 40 }), { batchSize: 2, numWorkers: 3 });
    const threads = (await all(loader)).map(({ threadId }) => (threadId as Batched).data[0]);
    expect(new Set(threads).size).toBe(3);
    expect(threads).not.toContain(0n);
    expect(threads.slice(3)).toEqual(threads.slice(0, -3));
  });

  test('come from the same threads with persistentWorkers, unless a loop was abandoned', async () => {
    const options = { batchSize: 2, numWorkers: 2, persistentWorkers: true };
    const loader = new DataLoader(await squares({ length: 8 }), options);
    const threads = async () =>
      new Set((await all(loader)).map(({ threadId }) => (threadId as Batched).data[0]));
    const first = await threads();
    expect(await threads()).toEqual(first);
    const batches = loader[Symbol.asyncIterator]();
    await batches.next();
    await batches.return();
    const later = await threads();
    expect(later.size).toBe(2);
    expect([...later].some((thread) => first.has(thread))).toBe(false);
  });

  test('of augmented images are the same for any number of ranks and workers, and after resuming', async () => {
    const seen = async (worldSize: number, numWorkers: number, resumeAfter: number) => {
      const found = new Map<string, string>();
      for (let rank = 0; rank < worldSize; rank += 1) {
        const make = () => {
          const sampler = new DistributedSampler(60, { numReplicas: worldSize, rank, seed: 8 });
          sampler.setEpoch(2);
          return new DataLoader(images(60), { batchSize: 5, sampler, numWorkers });
        };
        let loader = make();
        const collect = ({ image, label }: { image: Batched; label: Batched }) => {
          for (const [i, value] of label.data.entries())
            found.set(image.data.slice(48 * i, 48 * i + 48).join(), String(value));
        };
        let batches = 0;
        for await (const batch of loader) {
          collect(batch);
          batches += 1;
          if (batches === resumeAfter) break;
        }
        const state = loader.stateDict();
        loader = make();
        loader.loadStateDict(state);
        for await (const batch of loader) collect(batch);
      }
      return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
    };
    const alone = await seen(1, 0, 5);
    expect(alone).toHaveLength(60);
    expect(await seen(2, 2, 3)).toEqual(alone);
    expect(await seen(3, 1, 2)).toEqual(alone);
  });

  test('that are prefetched do not count in the state, delivered ones do', async () => {
    const loader = new DataLoader(await squares({ length: 100 }), {
      batchSize: 4,
      numWorkers: 2,
      prefetchFactor: 4,
    });
    const seen: number[] = [];
    const batches = loader[Symbol.asyncIterator]();
    while (!(await batches.next()).done) seen.push(loader.stateDict().samplesSeen);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, batch) => 4 * (batch + 1)));
    expect(loader.stateDict()).toMatchObject({ epoch: 1, samplesSeen: 0 });
  });

  test.each([false, true])(
    'do not detach memory of the dataset (batch: %s), even with collateFn',
    async (owned) => {
      const dataset = await squares({ length: 12, owned });
      for (const collateFn of [undefined, (samples: Square[]) => samples.map(({ pair }) => [...pair])]) {
        const options = { batchSize: 3, numWorkers: 1, sampler: [0, 1, 2, 2, 1, 0, 0, 1, 2] };
        const loader = new DataLoader<Square, unknown>(
          dataset,
          collateFn ? { ...options, collateFn } : options,
        );
        const pairs = (await all(loader)).map((batch) =>
          collateFn
            ? (batch as number[][]).flat()
            : [...(batch as { pair: Batched<Float32Array> }).pair.data],
        );
        expect(pairs).toEqual([
          [0, 1, 2, 3, 4, 5],
          [4, 5, 2, 3, 0, 1],
          [0, 1, 2, 3, 4, 5],
        ]);
      }
    },
  );

  test('receive seed and epoch', async () => {
    const dataset = await squares({ length: 4 });
    const sampler = new DistributedSampler(4, { seed: 6 });
    sampler.setEpoch(9);
    const told = async (options: object) => {
      const [{ seed, epoch }] = await all(
        new DataLoader(dataset, { batchSize: 4, numWorkers: 1, ...options }),
      );
      return [(seed as Batched).data[0], (epoch as Batched).data[0]].map(Number);
    };
    expect(await told({ sampler })).toEqual([6, 9]);
    expect(await told({ sampler, seed: 4 })).toEqual([4, 10]);
    expect(await told({ sampler: [0, 1] })).toEqual([0, 0]);
  });
});

describe('the loop throws on', () => {
  const failure = async (fails: object, options: object = {}) => {
    // Long enough that the loop is still running when the failure occurs.
    const dataset = await squares({ length: 4000, fails });
    const loader = new DataLoader(dataset, { batchSize: 4, numWorkers: 2, ...options });
    const batches: unknown[] = [];
    try {
      for await (const batch of loader) batches.push(batch);
    } catch (error) {
      return { batches: batches.length, error: error as Error & { cause: Error } };
    }
    throw new Error('nothing went wrong');
  };

  test('an error, with sample, worker and its stack, after the preceding batches', async () => {
    const { batches, error } = await failure({ at: 9 });
    expect(batches).toBe(2);
    expect(error).toMatchObject({
      name: 'DataLoaderWorkerError',
      code: 'ERR_DATA_LOADER_WORKER',
      worker: 0,
      index: 9,
    });
    expect(error.message).toMatch(
      /^DataLoader: worker 0 failed at sample 9: RangeError: sample 9 cannot be read\n\s+at explode \(.*squares\.js:\d+:\d+\)/,
    );
    expect(error.cause).toMatchObject({ name: 'RangeError', message: 'sample 9 cannot be read' });
  });

  test('an error outside a sample', async () => {
    const { error } = await failure({ laterAt: 5 });
    expect(error).toMatchObject({ code: 'ERR_DATA_LOADER_WORKER', worker: 1 });
    expect(error.message).toContain('RangeError: sample 5 cannot be read');
  });

  test('a worker that ends', async () => {
    const { error } = await failure({ exitAt: 6 });
    expect(error).toMatchObject({ code: 'ERR_DATA_LOADER_WORKER', worker: 1, index: undefined });
    expect(error.message).toContain(
      'worker 1 failed: its thread ended with exit code 7, over a batch of samples 4, 5, 6, 7',
    );
  });

  test('samples that differ', async () => {
    const dataset = await squares({ length: 4 });
    const loader = new DataLoader({ ...dataset, length: 9 }, { batchSize: 9, numWorkers: 1 });
    await expect(all(loader)).rejects.toThrow(
      /DataLoader: worker 0 failed: InvalidArgumentError: DataLoader: sample\.pair is/,
    );
  });
});

test('the loop’s thread checks that batches of workers have the first one’s element type', async () => {
  const dataset = await squares({ length: 8, fails: { fractionAt: 5 } });
  const loader = new DataLoader(dataset, { batchSize: 2, numWorkers: 2, persistentWorkers: true });
  await expect(all(loader)).rejects.toThrow(
    "DataLoader: sample.square is float64, and was int64 in the loader's first batch.",
  );
});

describe('rejects with a remedy:', () => {
  test('a dataset without forWorkers', () => {
    const dataset = { length: 3, at: (index: number) => index };
    expect(() => new DataLoader(dataset, { numWorkers: 2 })).toThrow(
      "got numWorkers: 2, but the dataset's functions stay in this thread. Put the dataset in a module of its own",
    );
  });

  test('arguments that cannot be cloned', async () => {
    const dataset = await squares({ length: 3, transform: () => 1 });
    await expect(all(new DataLoader(dataset, { numWorkers: 1 }))).rejects.toThrow(
      /numWorkers: expected a dataset whose arguments can be cloned, got others: .*Pass only data to datasetFromModule/,
    );
  });

  test('a synchronous loop', async () => {
    const loader = new DataLoader(await squares({ length: 3 }), { numWorkers: 1 });
    expect(() => [...loader]).toThrow('Write `for await (const batch of loader)`');
  });

  test('modules that create no dataset', async () => {
    await expect(datasetFromModule(fixture('no-dataset').href)).rejects.toThrow(
      'did not return a dataset. Return an object with a length and a method at(index)',
    );
    await expect(datasetFromModule('node:os')).rejects.toThrow(
      'node:os does not export a function createDataset',
    );
  });

  test.each([
    [{ numWorkers: -1 }, 'numWorkers must be an integer of at least 0, got -1'],
    [{ numWorkers: 1, prefetchFactor: 0 }, 'prefetchFactor must be an integer of at least 1, got 0'],
  ])('%j', async (options, message) => {
    const dataset = await squares({ length: 3 });
    expect(() => new DataLoader(dataset, options)).toThrow(message);
  });
});

describe('an iterable dataset', () => {
  const dealt = async (options: object) => await iterableDatasetFromModule<Dealt>(fixture('dealt'), options);
  const numbersOf = (batches: { number: Batched }[]) =>
    batches.map(({ number }) => [...number.data].map(Number));

  test('is read by all workers in turn, each sample once, in the same order if one worker is slow', async () => {
    const found = [];
    for (const [slow, prefetchFactor] of [
      [0, 1],
      [3, 1],
      [3, 4],
    ]) {
      const dataset = await dealt({ length: 20, slow });
      const options = { batchSize: 2, numWorkers: 3, prefetchFactor, persistentWorkers: true };
      const loader = new DataLoader(dataset, options);
      const batches = await all(loader);
      found.push(numbersOf(batches));
      expect(new Set(batches.map(({ threadId }) => threadId.data[0])).size).toBe(3);
      const again = await all(loader);
      expect(numbersOf(again)).toEqual(numbersOf(batches));
      expect(again.every(({ epoch }) => epoch.data[0] === 1n)).toBe(true);
    }
    // Worker 2 has 6 numbers, the others 7.
    const first = [
      [0, 3],
      [1, 4],
      [2, 5],
      [6, 9],
      [7, 10],
      [8, 11],
      [12, 15],
      [13, 16],
      [14, 17],
      [18],
      [19],
    ];
    expect(found).toEqual([first, first, first]);
  });

  test.each([0, 1, 4, 9, 11])('resumes after %i batches', async (before) => {
    const options = { batchSize: 2, numWorkers: 3 };
    const loader = new DataLoader(await dealt({ length: 20 }), options);
    const batches = loader[Symbol.asyncIterator]();
    for (let step = 0; step < before; step += 1) await batches.next();
    const state = structuredClone(loader.stateDict());
    const rest = await all(batches);
    const resumed = new DataLoader(await dealt({ length: 20 }), { ...options, prefetchFactor: 5 });
    resumed.loadStateDict(state);
    expect(numbersOf(await all(resumed))).toEqual(numbersOf(rest));
  });

  test('ends the loop with the error of the worker', async () => {
    const loader = new DataLoader(await dealt({ length: 20, failsAt: 10 }), { batchSize: 2, numWorkers: 2 });
    await expect(all(loader)).rejects.toThrow(/worker 0 failed: RangeError: number 10 cannot be read/);
  });

  test('has its own function, because its samples have no index', async () => {
    await expect(squares({}).then(() => datasetFromModule(fixture('dealt')))).rejects.toThrow(
      'Call iterableDatasetFromModule',
    );
    await expect(iterableDatasetFromModule(fixture('squares'))).rejects.toThrow('Call datasetFromModule');
  });
});

describe('workers and the process end with the loop if it', () => {
  test.each([
    ['end', 0, '50\n', ''],
    ['persist', 0, '50\n50\n', ''],
    ['break', 0, '2\n', ''],
    ['throw', 1, '', 'thrown at 0,1'],
    ['exit', 3, '', ''],
    ['forget', 0, 'forgotten\n', ''],
    ['stuck', 0, '2\n', ''],
  ])('%ss', (way, status, stdout, stderr) => {
    const script = fileURLToPath(builtFile(new URL('workers.script.ts', import.meta.url)));
    const ended = spawnSync(process.execPath, [script, way], { encoding: 'utf8', timeout: 20_000 });
    expect(ended).toMatchObject({ status, stdout });
    expect(ended.stderr).toContain(stderr);
  });
});
