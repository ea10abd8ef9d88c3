import { expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import { ConcatDataset, DataLoader, datasetFromModule, randomSplit, Subset } from '../../dist/data/index.js';
import type { Dataset } from '../../dist/data/index.js';
import { builtFile } from '../../../../test/support/built-script.ts';
import type { Square } from './fixtures/squares.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../support/plain-workers.ts');
  return await plainWorkers(original);
});

const numbers = (length: number, first = 0): Dataset<number> => ({ length, at: (index) => first + index });
const squares = (length: number) =>
  datasetFromModule<Square>(builtFile(new URL('fixtures/squares.ts', import.meta.url)), { length });
const all = <Sample>(dataset: Dataset<Sample>) =>
  Array.from({ length: dataset.length }, (_, index) => dataset.at(index));

// Of torch 1.13: [list(part.indices) for part in random_split(range(11), [0.5, 0.3, 0.2], torch.Generator().manual_seed(7))]
test('randomSplit returns the same parts as torch', () => {
  const parts = (length: number, lengths: number[], seed: number) =>
    randomSplit(numbers(length), lengths, { seed }).map(({ indices }) => indices);
  expect(parts(11, [0.5, 0.3, 0.2], 7)).toEqual([
    [3, 0, 9, 2, 5, 8],
    [4, 10, 1],
    [7, 6],
  ]);
  expect(parts(7, [4, 0, 3], 0)).toEqual([[4, 0, 5, 3], [], [2, 6, 1]]);
  expect(parts(14, [1 / 3, 1 / 3, 1 / 3], 3).map(({ length }) => length)).toEqual([5, 5, 4]);
});

test('randomSplit rejects lengths with another sum', () => {
  for (const lengths of [[3, 3], [0.5, 0.6], [8, -1], [Number.NaN]]) {
    expect(() => randomSplit(numbers(7), lengths)).toThrow(
      `randomSplit: expected lengths with the sum 7, or fractions with the sum 1, got [${lengths.join(', ')}].`,
    );
  }
});

test('a Subset has the samples at its indices, and reads batches if its dataset does', () => {
  const plain = new Subset(numbers(9, 100), [8, 0, 0, 3]);
  expect(all(plain)).toEqual([108, 100, 100, 103]);
  expect(plain.batch).toBeUndefined();
  const requests: (readonly number[])[] = [];
  const inBatches: Dataset<number> = {
    ...numbers(9),
    batch: (indices) => {
      requests.push(indices);
      return indices.map((index) => -index);
    },
  };
  expect(new Subset(inBatches, [5, 7, 1]).batch?.([2, 0])).toEqual([-1, -5]);
  expect(requests).toEqual([[1, 5]]);
  expect(() => new Subset(numbers(3), [0, 3])).toThrow(
    'Subset: each index must be an integer from 0 to 2, got 3.',
  );
});

test('a ConcatDataset has the samples of all datasets in order', () => {
  const dataset = new ConcatDataset([numbers(3), numbers(0), numbers(2, 50), numbers(1, 70)]);
  expect(all(dataset)).toEqual([0, 1, 2, 50, 51, 70]);
  expect(() => new ConcatDataset([])).toThrow('ConcatDataset: expected at least one dataset, got none.');
});

test('worker threads load composed datasets', async () => {
  const [first, second] = await Promise.all([squares(5), squares(4)]);
  const dataset = new Subset(new ConcatDataset([first, second]), [8, 1, 4, 5, 6]);
  const loaded: unknown[] = [];
  const threads = new Set<unknown>();
  for await (const batch of new DataLoader(dataset, { batchSize: 2, numWorkers: 2 })) {
    loaded.push(...batch.square.data);
    for (const id of batch.threadId.data) threads.add(id);
  }
  expect(loaded).toEqual([9n, 1n, 16n, 0n, 1n]);
  expect(threads.size).toBe(2);
});
