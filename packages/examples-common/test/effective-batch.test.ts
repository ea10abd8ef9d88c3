import { describe, expect, test } from 'vitest';
import { effectiveBatch, learningRate } from '../src/effective-batch.ts';

const perRank = (batchSize: number) => ({ batchSize, globalBatchSize: undefined });
const together = (globalBatchSize: number) => ({ batchSize: undefined, globalBatchSize });

describe('effectiveBatch', () => {
  test('multiplies the batch size per rank by the number of ranks', () => {
    expect(effectiveBatch(perRank(64), 3)).toEqual({ perRank: 64, global: 192 });
  });

  test('divides the global batch size by the number of ranks', () => {
    expect(effectiveBatch(together(96), 3)).toEqual({ perRank: 32, global: 96 });
  });

  test.each([
    [100, 3, 'Use 99 or 102'],
    [2, 3, 'Use 3'],
  ])('%i among %i ranks: %s', (size, ranks, advice) => {
    expect(() => effectiveBatch(together(size), ranks)).toThrow(advice);
  });
});

test('scales the learning rate linearly with the global batch size, from 64 images', () => {
  const scaled = { lr: 0.1, scaleLr: true };
  expect(learningRate(scaled, 64)).toBeCloseTo(0.1, 12);
  expect(learningRate(scaled, 192)).toBeCloseTo(0.3, 12);
  expect(learningRate({ ...scaled, scaleLr: false }, 192)).toBe(0.1);
});
