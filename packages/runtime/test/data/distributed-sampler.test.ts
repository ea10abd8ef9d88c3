import { InvalidArgumentError } from '@ringrun/core';
import { describe, expect, test } from 'vitest';
import { DistributedSampler } from '../../src/data/distributed-sampler.ts';
import { RandomSampler } from '../../src/data/sampler.ts';
import golden from './golden/sampler.json' with { type: 'json' };

describe('visits the indices that torch visits', () => {
  test.each(golden.distributed)(
    '$length over $numReplicas, shuffle $shuffle, seed $seed, drop $dropLast, epoch $epoch',
    ({ length, epoch, ranks, ...options }) => {
      for (const [rank, indices] of ranks.entries()) {
        const sampler = new DistributedSampler(length, { ...options, rank });
        sampler.setEpoch(epoch);
        expect([...sampler]).toEqual(indices);
        expect(sampler.length).toBe(indices.length);
      }
    },
  );
});

describe('epochs', () => {
  const sampler = () => new DistributedSampler(100, { numReplicas: 2, rank: 1, seed: 3 });
  const epochs = (count: number, of = sampler()) => Array.from({ length: count }, () => [...of]);
  const setTo = (epoch: number, of = sampler()) => {
    of.setEpoch(epoch);
    return of;
  };

  test('each iteration is the next epoch, without setEpoch', () => {
    const [first, second, third] = epochs(3);
    expect(first).toEqual([...setTo(0)]);
    expect(second).toEqual([...setTo(1)]);
    expect(third).toEqual([...setTo(2)]);
    expect(second).not.toEqual(first);
  });

  test('setEpoch sets the epoch of the next iteration; later ones follow', () => {
    const [, , third, fourth] = epochs(4);
    expect(epochs(2, setTo(2))).toEqual([third, fourth]);
  });

  test('setEpoch may be called before every iteration, as in torch', () => {
    const one = sampler();
    const habit = [0, 1, 2].map((epoch) => [...setTo(epoch, one)]);
    expect(habit).toEqual(epochs(3));
  });

  test('an iterator keeps the epoch in which it was created', () => {
    const one = sampler();
    const iterator = one[Symbol.iterator]();
    one.setEpoch(7);
    const indices = Array.from({ length: one.length }, () => Number(iterator.next().value));
    expect(indices).toEqual([...setTo(0)]);
  });

  test('the order on one rank equals RandomSampler’s', () => {
    const alone = new DistributedSampler(50, { numReplicas: 1, rank: 0, seed: 9 });
    const random = new RandomSampler(50, { seed: 9 });
    expect(epochs(2, alone)).toEqual([[...random], [...random]]);
    random.setEpoch(0);
    expect([...random]).toEqual([...setTo(0, alone)]);
  });
});

test('without a group, rank is 0 and numReplicas is 1', () => {
  expect([...new DistributedSampler([5, 6, 7], { shuffle: false })]).toEqual([0, 1, 2]);
});

test.each([
  [
    'a rank beyond numReplicas',
    10,
    { numReplicas: 2, rank: 2 },
    'rank must be an integer from 0 to 1, got 2',
  ],
  ['a negative rank', 10, { numReplicas: 2, rank: -1 }, 'rank must be an integer from 0 to 1, got -1'],
  ['no ranks', 10, { numReplicas: 0, rank: 0 }, 'numReplicas must be an integer of at least 1, got 0'],
  ['a broken seed', 10, { seed: 0.5 }, 'seed must be an integer from -(2^53 - 1) to 2^53 - 1, got 0.5'],
  ['a seed beyond 2^53 - 1', 10, { seed: 2 ** 53 }, 'got 9007199254740992'],
  ['a length of NaN', NaN, {}, "the dataset's length must be an integer of at least 0, got NaN"],
])('rejects %s', (_, length, options, message) => {
  expect(() => new DistributedSampler(length, options)).toThrow(InvalidArgumentError);
  expect(() => new DistributedSampler(length, options)).toThrow(message);
});

test('a rejected epoch changes nothing', () => {
  const sampler = new DistributedSampler(20, { numReplicas: 1, rank: 0 });
  expect(() => {
    sampler.setEpoch(-1);
  }).toThrow('DistributedSampler.setEpoch: epoch must be an integer of at least 0, got -1');
  expect([...sampler]).toEqual([...new RandomSampler(20)]);
});
