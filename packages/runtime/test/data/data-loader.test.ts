import { InvalidArgumentError } from '@ringrun/core';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { Batched } from '../../src/data/collate.ts';
import { DataLoader } from '../../src/data/data-loader.ts';
import type { Dataset } from '../../src/data/dataset.ts';
import { DistributedSampler } from '../../src/data/distributed-sampler.ts';
import { RandomSampler } from '../../src/data/sampler.ts';

/** Sample i is 10 i. */
const tens = (length: number): Dataset<number> => ({ length, at: (index) => 10 * index });
const valuesOf = (batches: Iterable<Batched>) => Array.from(batches, ({ data }) => Array.from(data, Number));

describe('batches', () => {
  test.each([
    [7, 3, false, [[0, 10, 20], [30, 40, 50], [60]]],
    [
      7,
      3,
      true,
      [
        [0, 10, 20],
        [30, 40, 50],
      ],
    ],
    [
      6,
      3,
      true,
      [
        [0, 10, 20],
        [30, 40, 50],
      ],
    ],
    [2, 3, false, [[0, 10]]],
    [2, 3, true, []],
    [0, 3, false, []],
  ])('%i samples by %i, dropLast %s', (length, batchSize, dropLast, expected) => {
    const loader = new DataLoader(tens(length), { batchSize, dropLast });
    expect(valuesOf(loader)).toEqual(expected);
    expect(loader.length).toBe(expected.length);
  });

  test('are read with one batch, and adopt its array', () => {
    const asked: (readonly number[])[] = [];
    const batch = (indices: readonly number[]) => {
      asked.push(indices);
      const whole = Float32Array.from(indices);
      return indices.map((_, position) => whole.subarray(position, position + 1));
    };
    const dataset = { length: 5, at: (index: number) => Float32Array.of(index), batch };
    expect(valuesOf(new DataLoader(dataset, { batchSize: 3 }))).toEqual([
      [0, 1, 2],
      [3, 4],
    ]);
    expect(asked).toEqual([
      [0, 1, 2],
      [3, 4],
    ]);
  });

  test('have one sample by default', () => {
    expect(valuesOf(new DataLoader(tens(2)))).toEqual([[0], [10]]);
  });

  test('are the same with for await, which yields to the event loop between them', async () => {
    const loader = new DataLoader(tens(7), { batchSize: 3 });
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const batches = [];
    for await (const batch of loader) {
      batches.push(batch);
      // Longer than the timer's millisecond, so that it is due whenever the event loop runs.
      const until = performance.now() + 3;
      while (performance.now() < until);
    }
    clearInterval(timer);
    expect(batches).toEqual([...loader]);
    expect(turns).toBeGreaterThan(0);
  });

  test('share no memory', () => {
    const [first, second] = new DataLoader(tens(4), { batchSize: 2 });
    (second.data as BigInt64Array).fill(-1n);
    expect([...first.data]).toEqual([0n, 10n]);
  });
});

describe('order', () => {
  test('shuffle visits each sample once, differently in each epoch, and the same for one seed', () => {
    const epochsOf = (seed: number) => {
      const loader = new DataLoader(tens(100), { batchSize: 100, shuffle: true, seed });
      return [...valuesOf(loader), ...valuesOf(loader)];
    };
    const [first, second] = epochsOf(1);
    expect(first).toEqual([...new RandomSampler(100, { seed: 1 })].map((index) => 10 * index));
    expect(second).not.toEqual(first);
    expect(second.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => 10 * index));
    expect(epochsOf(1)).toEqual([first, second]);
    expect(epochsOf(2)[0]).not.toEqual(first);
  });

  test('a sampler selects the samples', () => {
    const sampler = new DistributedSampler(7, { numReplicas: 2, rank: 1, shuffle: false });
    const loader = new DataLoader(tens(7), { batchSize: 3, sampler });
    expect(valuesOf(loader)).toEqual([[10, 30, 50], [0]]);
    expect(loader.length).toBe(2);
  });
});

describe('a field has the element type of the first batch:', () => {
  const oneTurnsUp = (values: readonly unknown[]) => {
    const dataset = { length: values.length, at: (index: number) => ({ pair: [values[index], 'name'] }) };
    const batches: unknown[] = [];
    try {
      for (const batch of new DataLoader(dataset, { batchSize: 2 })) batches.push(batch);
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidArgumentError);
      return [batches.length, (error as Error).message];
    }
    return [batches.length, ''];
  };

  test('rejects fractions after integers and integers after fractions, and names the field', () => {
    const cure = 'Return BigInt(x) for classes, and Float32Array.of(x) for float targets.';
    const because = `Numbers become int64 if all numbers of a batch are integers. ${cure}`;
    expect(oneTurnsUp([1, 2, 3, 0.5])).toEqual([
      1,
      `DataLoader: sample.pair[0] is float64, and was int64 in the loader's first batch. ${because}`,
    ]);
    expect(oneTurnsUp([0.5, 1, 1, 2])).toEqual([
      1,
      `DataLoader: sample.pair[0] is int64, and was float64 in the loader's first batch. ${because}`,
    ]);
  });

  test('rejects arrays of another type', () => {
    const arrays = [Float32Array.of(1), Float32Array.of(1), Uint8Array.of(1), Uint8Array.of(1)];
    expect(oneTurnsUp(arrays)).toEqual([
      1,
      "DataLoader: sample.pair[0] is uint8, and was float32 in the loader's first batch. Return arrays of one type from the dataset.",
    ]);
  });

  test('accepts equal types, in each epoch', () => {
    expect(oneTurnsUp([1n, 2, 3, 4n].map(BigInt))).toEqual([2, '']);
    const loader = new DataLoader({ length: 4, at: (index: number) => index / 4 }, { sampler: [1, 2] });
    expect([...loader, ...loader]).toHaveLength(4);
    const odd = new DataLoader({ length: 4, at: (index: number) => index / 2 });
    expect(() => [...odd]).toThrow('DataLoader: sample is float64');
  });
});

test('collateFn creates the batch', () => {
  const loader = new DataLoader(tens(3), { batchSize: 2, collateFn: (samples) => samples.join('+') });
  expectTypeOf(loader).toEqualTypeOf<DataLoader<number, string>>();
  expect([...loader]).toEqual(['0+10', '20']);
});

describe('rejects', () => {
  const sampler = new RandomSampler(3);
  test.each([
    ['an empty batch', { batchSize: 0 }, 'batchSize must be an integer of at least 1, got 0'],
    ['half a sample', { batchSize: 1.5 }, 'batchSize must be an integer of at least 1, got 1.5'],
    [
      'a broken seed',
      { shuffle: true, seed: 0.5 },
      'seed must be an integer from -(2^53 - 1) to 2^53 - 1, got 0.5',
    ],
    ['a sampler and shuffle', { shuffle: true, sampler }, 'got both a sampler and shuffle: true'],
  ])('%s', (_, options, message) => {
    expect(() => new DataLoader(tens(3), options)).toThrow(InvalidArgumentError);
    expect(() => new DataLoader(tens(3), options)).toThrow(message);
  });

  test.each([[[0, 3]], [[-1]], [[0.5]]])('a sampler of another dataset, which yields %j', (indices) => {
    const loader = new DataLoader(tens(3), { sampler: indices });
    expect(() => [...loader]).toThrow(
      `the sampler returned index ${indices.at(-1)}, but the dataset has 3 samples`,
    );
  });
});
