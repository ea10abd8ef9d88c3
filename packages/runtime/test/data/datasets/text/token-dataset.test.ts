import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import {
  DataLoader,
  DistributedSampler,
  InvalidDataError,
  TokenDataset,
} from '../../../../dist/data/index.js';
import type { TokenArray, TokenType } from '../../../../dist/data/index.js';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../../../support/plain-workers.ts');
  return await plainWorkers(original);
});

const numbers = (array: Iterable<bigint>) => Array.from(array, Number);
const range = (begin: number, end: number) => Array.from({ length: end - begin }, (_, i) => begin + i);
const upTo = (count: number) => Uint16Array.from(range(0, count));

function fileOf(tokens: TokenArray): string {
  const path = join(temporaryFolder(), 'tokens.bin');
  writeFileSync(path, tokens);
  return path;
}

const extremes: [TokenType, TokenArray][] = [
  ['uint8', Uint8Array.of(0, 255, 7)],
  ['uint16', Uint16Array.of(0, 65535, 7)],
  ['uint32', Uint32Array.of(0, 2 ** 32 - 1, 7)],
  ['int32', Int32Array.of(-(2 ** 31), -100, 2 ** 31 - 1)],
  ['int64', BigInt64Array.of(-(2n ** 63n), -100n, 2n ** 63n - 1n)],
];

describe('values', () => {
  test.each(extremes)('of a file and an array of %s become int64 unchanged', (dtype, tokens) => {
    for (const dataset of [
      new TokenDataset(fileOf(tokens), { dtype, blockSize: 2 }),
      new TokenDataset(tokens, { blockSize: 2 }),
    ]) {
      const { input, target } = dataset.at(0);
      const expected = Array.from(tokens, BigInt);
      expect([...input]).toEqual(expected.slice(0, 2));
      expect([...target]).toEqual(expected.slice(1));
    }
  });
});

describe('windows', () => {
  // [tokens, blockSize, stride, windows]: the last window needs one token after it.
  test.each([
    [13, 4, undefined, 3],
    [12, 4, undefined, 2],
    [13, 4, 1, 9],
    [14, 3, 5, 3],
    [5, 4, 4, 1],
  ])('of %i tokens by %i with stride %s: %i', (count, blockSize, stride, windows) => {
    const dataset = new TokenDataset(fileOf(upTo(count)), { blockSize, ...(stride ? { stride } : {}) });
    expect(dataset.length).toBe(windows);
    for (const index of range(0, windows)) {
      const begin = index * (stride ?? blockSize);
      const { input, target } = dataset.at(index);
      expect(numbers(input)).toEqual(range(begin, begin + blockSize));
      expect(numbers(target)).toEqual(range(begin + 1, begin + 1 + blockSize));
    }
    expect(() => dataset.at(windows)).toThrow(`expected an index from 0 to ${windows - 1}, got ${windows}`);
  });

  test('stay between start and end', () => {
    const dataset = new TokenDataset(upTo(100), { blockSize: 4, stride: 1, start: 90, end: 97 });
    expect(dataset.length).toBe(3);
    expect(numbers(dataset.at(0).input)).toEqual([90, 91, 92, 93]);
    expect(numbers(dataset.at(2).target)).toEqual([93, 94, 95, 96]);
  });

  test.each([0, 2])(
    'reach a loop as one array of inputs and one of targets, with %i workers',
    async (numWorkers) => {
      const dataset = new TokenDataset(pathToFileURL(fileOf(upTo(21))), { blockSize: 5 });
      const batches = [];
      for await (const { input, target } of new DataLoader(dataset, { batchSize: 3, numWorkers }))
        batches.push([input.shape, numbers(input.data), numbers(target.data)]);
      expect(batches).toEqual([
        [[3, 5], range(0, 15), range(1, 16)],
        [[1, 5], range(15, 20), range(16, 21)],
      ]);
    },
  );
});

test('drawn with replacement differ between ranks and epochs, and cover all offsets', () => {
  const dataset = new TokenDataset(upTo(50), { blockSize: 8, stride: 1 });
  const samplers = [0, 1].map(
    (rank) => new DistributedSampler(dataset, { numReplicas: 2, rank, replacement: true, numSamples: 2000 }),
  );
  const [first, second] = samplers.map((sampler) => [...sampler]);
  const [again] = samplers.map((sampler) => [...sampler]);
  expect([first.length, second.length]).toEqual([1000, 1000]);
  expect(first).not.toEqual(second);
  expect(first).not.toEqual(again);
  const counts = range(0, 42).map((offset) => [...first, ...second].filter((x) => x === offset).length);
  // 47.6 expected with a standard deviation of 6.8: five of them to each side.
  expect(Math.min(...counts)).toBeGreaterThan(13);
  expect(Math.max(...counts)).toBeLessThan(82);
  expect(counts.reduce((a, b) => a + b)).toBe(2000);
});

test('a mapped file is not changed by writes to memory, and may be deleted', () => {
  const path = fileOf(upTo(9));
  const { input } = new TokenDataset(path, { blockSize: 8 }).at(0);
  input.fill(-1n);
  expect(new Uint16Array(new Uint8Array(readFileSync(path)).buffer)).toEqual(upTo(9));
});

describe('rejects', () => {
  test.each([
    [{ blockSize: 0 }, 'blockSize must be an integer of at least 1, got 0'],
    [{ blockSize: 2, stride: 0 }, 'stride must be an integer of at least 1, got 0'],
    [{ blockSize: 2, end: 11 }, 'end must be an integer from 0 to 10, got 11'],
    [{ blockSize: 2, start: 5, end: 4 }, 'start must be an integer from 0 to 4, got 5'],
    [{ blockSize: 10 }, 'expected at least blockSize + 1 = 11 tokens, got 10'],
    [{ blockSize: 2, dtype: 'uint16' as const }, "got 'uint16' with an array"],
  ])('%j', (options, message) => {
    expect(() => new TokenDataset(upTo(10), options)).toThrow(message);
  });

  test('a file that ends within a token', () => {
    const path = fileOf(Uint8Array.of(1, 2, 3));
    expect(() => new TokenDataset(path, { blockSize: 1 })).toThrow(InvalidDataError);
    expect(() => new TokenDataset(path, { blockSize: 1 })).toThrow('2 bytes each, got 3 bytes');
  });

  test('a missing and an empty file', () => {
    expect(() => new TokenDataset('/no/such.bin', { blockSize: 1 })).toThrow(
      'mapping /no/such.bin: not found',
    );
    expect(() => new TokenDataset(fileOf(new Uint8Array()), { blockSize: 1 })).toThrow('got 0 of');
  });

  test('an unknown type, and an array of another type', () => {
    expect(() => new TokenDataset('x', { blockSize: 1, dtype: 'float' as never })).toThrow("got 'float'");
    expect(() => new TokenDataset(new Float32Array(4) as never, { blockSize: 1 })).toThrow('Float32Array');
  });
});
