import { expect, test } from 'vitest';
import { DistributedSampler } from '../../src/data/distributed-sampler.ts';
import { RandomSampler } from '../../src/data/sampler.ts';

const draws = (rank: number, numReplicas: number, seed = 3) =>
  new DistributedSampler(100, { numReplicas, rank, seed, replacement: true, numSamples: 30 });

test('any number of ranks draws the same indices together', () => {
  const alone = [...draws(0, 1)];
  const three = [0, 1, 2].map((rank) => [...draws(rank, 3)]);
  expect(alone.map((_, i) => three[i % 3][Math.floor(i / 3)])).toEqual(alone);
  expect(alone).toEqual([...new RandomSampler(100, { seed: 3, replacement: true, numSamples: 30 })]);
  expect(alone).not.toEqual([...draws(0, 1, 4)]);
});

test('resumes in the middle of an epoch on another number of ranks', () => {
  const sampler = draws(0, 2);
  const indices = sampler[Symbol.iterator]();
  for (let i = 0; i < 5; i += 1) indices.next();
  const state = sampler.stateDict();
  expect(state).toMatchObject({ samplesSeen: 10, datasetLength: 100, numSamples: 30 });
  const resumed = draws(0, 1);
  resumed.loadStateDict(structuredClone(state));
  expect([...resumed]).toEqual([...draws(0, 1)].slice(10));
});

test('reaches beyond 2^32 samples without a permutation', () => {
  const length = 2 ** 45;
  const indices = [...new RandomSampler(length, { replacement: true, numSamples: 1000 })];
  expect(indices.every((index) => Number.isInteger(index) && index >= 0 && index < length)).toBe(true);
  expect(new Set(indices).size).toBe(1000);
  const mean = indices.reduce((sum, index) => sum + index / length, 0) / 1000;
  // The standard deviation of the mean is 0.0091.
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
});

test('rejects contradictions and states of another order', () => {
  expect(() => new RandomSampler(5, { numSamples: 3 })).toThrow(
    'together with replacement: true, got 3 alone',
  );
  expect(() => new RandomSampler(0, { replacement: true, numSamples: 3 })).toThrow('got one of length 0');
  expect(() => new DistributedSampler(5, { replacement: true, shuffle: false })).toThrow('shuffle: false');
  const state = draws(0, 1).stateDict();
  expect(() => {
    new RandomSampler(100).loadStateDict(state);
  }).toThrow('expected the state of an order without replacement, got the state of 30 indices');
});
