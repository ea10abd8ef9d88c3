import type { WorkerOptions } from 'node:worker_threads';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import { DataLoader, datasetFromModule } from '../../dist/data/index.js';
import type { BatchMemory, Batched, DataLoaderOptions } from '../../dist/data/index.js';
import { builtFile } from '../../../../test/support/built-script.ts';
import type { Sample } from './fixtures/left-behind.ts';
import { images } from './noise-images.ts';

// Threads inherit the options of their process, and this one's resolve packages to their TypeScript sources.
vi.mock('node:worker_threads', async (original) => {
  const threads = await original<typeof import('node:worker_threads')>();
  class Worker extends threads.Worker {
    constructor(entry: URL, options: WorkerOptions) {
      super(entry, { ...options, execArgv: [] });
    }
  }
  return { ...threads, Worker };
});

interface Batch {
  values: Batched<Float32Array>;
  found: Batched<BigInt64Array>;
}

type Workers = Pick<DataLoaderOptions<never, never>, 'numWorkers' | 'prefetchFactor' | 'persistentWorkers'>;

const reuseMemory = true;
const ways: [name: string, options: Workers][] = [
  ['in the loop’s thread', {}],
  ['with a worker', { numWorkers: 1 }],
  ['with persistent workers', { numWorkers: 3, prefetchFactor: 1, persistentWorkers: true }],
];

async function leftBehind(length: number, options: object): Promise<DataLoader<Sample, Batch>> {
  const module = builtFile(new URL('fixtures/left-behind.ts', import.meta.url));
  const dataset = await datasetFromModule<Sample>(module, { length, size: 5 });
  return new DataLoader<Sample, Batch>(dataset, { batchSize: 4, reuseMemory, ...options });
}

/** Long enough for threads to prefetch all batches that they may prefetch. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 2));

describe.each(ways)('%s', (_, options) => {
  test('batches equal those in new memory until the next one is requested', async () => {
    const order = { batchSize: 7, shuffle: true, seed: 3 };
    const kept = new DataLoader(images(100), order);
    const reused = new DataLoader(images(100), { ...order, ...options, reuseMemory });
    for (let epoch = 0; epoch < 2; epoch += 1) {
      const expected = [...kept];
      let batches = 0;
      for await (const batch of reused) {
        await aWhile();
        expect(batch).toEqual(expected[batches]);
        batches += 1;
      }
      // The last batch is smaller.
      expect(batches).toBe(15);
    }
  });

  test('batches reuse the memory of earlier ones', async () => {
    const loader = await leftBehind(80, options);
    const found: number[] = [];
    for await (const batch of loader) found.push(Number(batch.found.data[0]));
    expect(found).toHaveLength(20);
    const { numWorkers = 0, prefetchFactor = 2 } = options;
    // The batches in progress, and the one in use.
    const places = numWorkers * prefetchFactor + 1;
    expect(found.slice(0, places)).toEqual(Array.from({ length: places }, () => 0));
    // The first sample of an earlier batch.
    for (const [batch, value] of found.entries()) {
      if (batch < places) continue;
      expect(value % 4).toBe(0);
      expect(value).toBeLessThan(4 * batch);
      expect(value).toBeGreaterThanOrEqual(0);
    }
    expect(new Set(found.slice(places)).size).toBe(20 - places);
  });

  test('a kept batch is empty afterwards; it never shows another batch', async () => {
    const kept: Batch[] = [];
    for await (const batch of await leftBehind(12, options)) {
      for (const { values, found } of kept) {
        expect(values.data).toHaveLength(0);
        expect(found.data).toHaveLength(0);
      }
      expect(batch.values.data).toHaveLength(20);
      kept.push(batch);
    }
    expect(kept.map(({ values }) => values.data.length)).toEqual([0, 0, 0]);
  });

  test('the last batch of an abandoned loop stays valid in later iterations', async () => {
    const loader = await leftBehind(40, options);
    let last: Batch | undefined;
    for await (const batch of loader) {
      last = batch;
      if (batch.values.data[0] >= 8) break;
    }
    for await (const batch of loader) expect(batch.values.data).not.toHaveLength(0);
    expect([...last!.values.data]).toEqual([8, 9, 10, 11].flatMap((i) => [i, i, i, i, i]));
  });

  test('two concurrent loops use separate memory', async () => {
    const loader = await leftBehind(32, options);
    const loops = [0, 1].map(async () => {
      const sums: number[] = [];
      for await (const { values } of loader) {
        await aWhile();
        sums.push(values.data.reduce((sum, value) => sum + value, 0));
      }
      return sums;
    });
    const expected = Array.from({ length: 8 }, (_, batch) => 5 * (16 * batch + 6));
    expect(await Promise.all(loops)).toEqual([expected, expected]);
  });

  test('collateFn may allocate in the memory; its other arrays stay valid', async () => {
    const collateFn = (samples: Sample[], memory?: BatchMemory) => {
      const sums = memory!.array('Float64Array', samples.length);
      const [before] = sums;
      for (const [place, { values }] of samples.entries()) sums[place] = values[0] * 5;
      return { sums, before, own: Float64Array.from(sums), values: samples.map(({ values }) => values) };
    };
    const loader = await leftBehind(16, { ...options, collateFn });
    const batches: ReturnType<typeof collateFn>[] = [];
    for await (const batch of loader as unknown as AsyncIterable<ReturnType<typeof collateFn>>) {
      expect(batch.sums).toEqual(batch.own);
      expect(batch.values.map(([value]) => value * 5)).toEqual([...batch.own]);
      batches.push(batch);
    }
    expect(batches.map(({ before }) => before)).toEqual([0, 0, 20, 40]);
    expect(batches.map(({ sums }) => sums.length)).toEqual([0, 0, 0, 0]);
    expect(batches.flatMap(({ own }) => [...own])).toEqual(Array.from({ length: 16 }, (_, i) => 5 * i));
  });
});

test('reuses memory in a synchronous loop too', async () => {
  const loader = await leftBehind(12, {});
  const seen: number[] = [];
  const batches: Batch[] = [];
  for (const batch of loader) {
    seen.push(...batch.values.data.filter((_, i) => i % 5 === 0));
    batches.push(batch);
  }
  expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => i));
  expect(batches.map(({ values }) => values.data.length)).toEqual([0, 0, 0]);
  // The next loop continues in the memory of the previous one.
  const [next] = loader;
  expect(next.found.data[0]).toBe(8n);
});

test('numbers, bigints, typed arrays and lists of these are allocated in it', () => {
  const at = (index: number) => ({
    number: index,
    big: BigInt(index),
    bytes: Uint8Array.of(index, index),
    list: [Int16Array.of(index)] as const,
    name: `${index}`,
  });
  const loader = new DataLoader({ length: 6, at }, { batchSize: 2, reuseMemory });
  const kept = [];
  for (const batch of loader) {
    const i = 2 * kept.length;
    expect([...batch.number.data].map(Number)).toEqual([i, i + 1]);
    expect([...batch.big.data]).toEqual([BigInt(i), BigInt(i + 1)]);
    expect([...batch.bytes.data]).toEqual([i, i, i + 1, i + 1]);
    expect([...batch.list[0].data]).toEqual([i, i + 1]);
    kept.push(batch);
  }
  const [{ number, big, bytes, list, name }] = kept;
  expect([number, big, bytes, list[0]].map(({ data }) => data.length)).toEqual([0, 0, 0, 0]);
  expect(name).toEqual(['0', '1']);
});

test('arrays that the dataset allocated elsewhere are unchanged', () => {
  const whole = (indices: readonly number[]) => {
    const values = Float32Array.from(indices);
    return indices.map((_, place) => values.subarray(place, place + 1));
  };
  const dataset = { length: 4, at: (index: number) => Float32Array.of(index), batch: whole };
  const batches = [...new DataLoader(dataset, { batchSize: 2, reuseMemory })];
  expect(batches.map(({ data }) => [...data])).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test('an epoch uses as much memory as one batch', async () => {
  const batchBytes = 4 * 2 ** 20;
  const at = (index: number) => new Float32Array(batchBytes / 16).fill(index);
  const dataset = { length: 200, at: (index: number) => samples[index % 4] };
  const samples = [0, 1, 2, 3].map(at);
  const loader = new DataLoader(dataset, { batchSize: 4, reuseMemory });
  const held: number[] = [];
  for await (const { data } of loader) {
    expect(data[data.length - 1]).toBe(3);
    held.push(process.memoryUsage().arrayBuffers);
  }
  expect(held).toHaveLength(50);
  expect(Math.max(...held) - Math.min(...held)).toBeLessThan(batchBytes);
});

test('a batch transferred by the loop is replaced by new memory', () => {
  const loader = new DataLoader(
    { length: 6, at: (i: number) => Float32Array.of(i) },
    { batchSize: 2, reuseMemory },
  );
  const sent = Array.from(loader, ({ data }) => structuredClone(data, { transfer: [data.buffer] }));
  expect(sent.map((data) => [...data])).toEqual([
    [0, 1],
    [2, 3],
    [4, 5],
  ]);
});
