import type { WorkerOptions } from 'node:worker_threads';
import { expect, expectTypeOf, test, vi } from 'vitest';
// The built files: worker threads of this Node version may not run TypeScript.
import {
  DataLoader,
  datasetFromModule,
  defaultCollate,
  type Batched,
} from '../../../runtime/dist/data/index.js';
import { BufferTensor, Parameter, tensor } from '../../src/index.ts';
import { builtFile } from '../../../../test/support/built-script.ts';
import type { Sample } from '../fixtures/tensors.ts';
import '../support/one-thread.ts';

// Threads inherit the options of their process, which here resolve packages to their TypeScript sources.
vi.mock('node:worker_threads', async (original) => {
  const threads = await original<typeof import('node:worker_threads')>();
  class Worker extends threads.Worker {
    constructor(entry: URL, options: WorkerOptions) {
      super(entry, { ...options, execArgv: [] });
    }
  }
  return { ...threads, Worker };
});

const fixture = builtFile(new URL('../fixtures/tensors.ts', import.meta.url));
const dataset = async (options: object) =>
  await datasetFromModule<Sample>(fixture, { length: 5, ...options });

const expected = [
  {
    image: { data: Float32Array.of(0, -0, 1, -1), shape: [2, 1, 2] },
    label: { data: BigInt64Array.of(0n, 1n), shape: [2] },
  },
  {
    image: { data: Float32Array.of(2, -2, 3, -3), shape: [2, 1, 2] },
    label: { data: BigInt64Array.of(2n, 3n), shape: [2] },
  },
];

test.each([0, 1])(
  'samples that are tensors become arrays of a batch, with %i workers',
  async (numWorkers) => {
    const batches = [];
    for await (const batch of new DataLoader(await dataset({}), {
      batchSize: 2,
      dropLast: true,
      numWorkers,
    })) {
      expectTypeOf(batch.image).toEqualTypeOf<Batched<Float32Array | BigInt64Array | Uint8Array>>();
      batches.push(batch);
      expect(tensor(batch.image.data, batch.image.shape).shape).toEqual([2, 1, 2]);
    }
    expect(batches).toEqual(expected);
  },
);

test('a collate function receives the tensors, or their arrays from worker threads', async () => {
  const collateFn = (samples: readonly unknown[]) => samples;
  const options = { batchSize: 2, numWorkers: 1, sampler: [3], collateFn };
  const batches: unknown[] = [];
  for await (const batch of new DataLoader<Sample, unknown>(await dataset({}), options)) batches.push(batch);
  expect(batches).toEqual([
    [
      {
        image: { data: Float32Array.of(3, -3), shape: [1, 2] },
        label: { data: BigInt64Array.of(3n), shape: [] },
      },
    ],
  ]);
});

test.each([0, 1])('rejects a computed tensor, naming its field, with %i workers', async (numWorkers) => {
  const loader = new DataLoader(await dataset({ computedAt: 1 }), { batchSize: 2, numWorkers });
  await expect(loader[Symbol.asyncIterator]().next()).rejects.toThrow(
    'DataLoader: sample.image is a tensor that is not computed yet, of shape [1,2]; the elements of a sample must be available. ' +
      'Compute it first, with await x.array(), and return tensor(array, shape).',
  );
});

test('tensors of one batch must match; parameters and buffers are tensors', () => {
  const two = Float32Array.of(1, 2);
  expect(defaultCollate([new Parameter(two, [2]), new BufferTensor(two)])).toEqual({
    data: Float32Array.of(1, 2, 1, 2),
    shape: [2, 2],
  });
  expect(() => defaultCollate([tensor(two, [2]), tensor(two, [1, 2])])).toThrow('an array of shape [2]');
  expect(() => defaultCollate([tensor(two, [2]), tensor([1, 2], [2])])).toThrow('BigInt64Array');
  expect(() => defaultCollate<unknown>([tensor(two), 'x'])).toThrow('a tensor of shape [2]');
});
