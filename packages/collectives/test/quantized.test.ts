import { describe, expect, test } from 'vitest';

import {
  allReduceQuantized,
  allReduceQuantizedSync,
  createCpuGroup,
  HashStore,
  InvalidArgumentError,
  QuantizationError,
} from '@ringrun/collectives';

import { blockElements, largestOf, quantized } from '../../../test/support/quantized.ts';
import { hashOf } from './fixtures/numbers.ts';
import { quantizedData, type QuantizedCase } from './fixtures/scenarios/quantized.ts';
import { runRanks } from './support/ranks.ts';

interface Found {
  hashes: string[];
  error?: string;
  mean?: number[];
}

const { fround } = Math;

/** The last is longer than one segment of every part of two ranks and of four. */
const lengths = [0, 1, 3, 255, 256, 257, 1000, 300_001];
const cases: QuantizedCase[] = lengths.flatMap((length) => [
  { length, bits: 8, op: 'AVG', steps: length > 1000 ? 2 : 3, feeds: true },
  ...(length > 1000 ? [] : [{ length, bits: 4, op: 'SUM', steps: 2, feeds: length % 2 === 0 } as const]),
]);
const brokenCases: QuantizedCase[] = [
  { length: 1000, bits: 8, op: 'SUM', steps: 2, feeds: true, broken: 300 },
  { length: 1000, bits: 4, op: 'AVG', steps: 2, feeds: true, broken: 999 },
];

/** The rank that reduces each element: parts of nearly equal numbers of blocks. */
function ownerOf(length: number, ranks: number, element: number): number {
  const blocks = Math.ceil(length / blockElements);
  const block = Math.floor(element / blockElements);
  return Array.from({ length: ranks }, (_, rank) => rank).findLast(
    (rank) => Math.floor((blocks * rank) / ranks) <= block,
  )!;
}

/** The collective in plain JavaScript, over ranks that share no memory: each rank's hashes of results and of its error. */
function expectedOf(one: QuantizedCase, ranks: number): Found[] {
  const { bits, length, op, steps, feeds } = one;
  const errors = Array.from({ length: ranks }, () => new Float32Array(length));
  const hashes: string[] = [];
  for (let step = 0; step < steps; step += 1) {
    const terms = errors.map((error, rank) => {
      const values = quantizedData(one, rank, step).map((value, i) => {
        const part = op === 'AVG' ? fround(value / ranks) : value;
        return feeds ? fround(part + error[i]) : part;
      });
      return quantized(bits, values);
    });
    if (ranks === 1) {
      hashes.push(hashOf(quantizedData(one, 0, step)));
      continue;
    }
    const sum = terms[0].values.map((first, i) =>
      terms.slice(1).reduce((total, { values }) => fround(total + values[i]), first),
    );
    const result = quantized(bits, sum);
    hashes.push(hashOf(result.values));
    for (const [rank, error] of errors.entries()) {
      error.forEach((before, i) => (error[i] = terms[rank].lost[i] ?? before));
    }
    result.lost.forEach((lost, i) => {
      const error = errors[ownerOf(length, ranks, i)];
      error[i] = fround(error[i] + (lost ?? 0));
    });
  }
  return errors.map((error) => ({ hashes, ...(feeds && { error: hashOf(error) }) }));
}

/** Of a result over the ranks, for each element, from the largest magnitudes of its block. */
function boundsOf(
  bits: 8 | 4,
  inputs: readonly Float32Array[],
  exact: Float64Array,
  divisor: number,
): number[] {
  const largestIn = (array: ArrayLike<number>, begin: number) => {
    let largest = 0;
    for (let i = begin; i < Math.min(array.length, begin + blockElements); i += 1)
      largest = Math.max(largest, Math.abs(array[i]));
    return largest;
  };
  return Array.from(exact, (_, i) => {
    const begin = i - (i % blockElements);
    const terms = inputs.reduce((total, input) => total + largestIn(input, begin) / divisor, 0);
    return ((terms + largestIn(exact, begin)) / (2 * largestOf(bits))) * 1.02;
  });
}

function exactOf(inputs: readonly Float32Array[], divisor: number): Float64Array {
  return Float64Array.from(
    inputs[0],
    (_, i) => inputs.reduce((total, input) => total + input[i], 0) / divisor,
  );
}

const overTcp = { RINGRUN_TRANSPORT: 'tcp' };

describe('a quantized all-reduce between hosts', () => {
  test.each([1, 2, 3, 4])('has the bits of its plain form on all of %i ranks', async (size) => {
    const all = size > 1 ? [...cases, ...brokenCases] : cases;
    const reports = await runRanks(size, 'quantizedAllReduces', { args: { cases: all }, env: overTcp });
    const expected = all.map((one) => expectedOf(one, size));
    for (const [rank, { found }] of reports.entries()) {
      for (const [i, one] of (found as Found[]).entries()) {
        expect({ ...all[i], rank, ...one }).toEqual({ ...all[i], rank, ...expected[i][rank] });
      }
    }
  });

  test.each([8, 4] as const)(
    'to %i bits errs by the documented bound, which feedback divides by the steps',
    async (bits) => {
      const steps = 12;
      const one: QuantizedCase = { length: 1000, bits, op: 'AVG', steps, feeds: true, repeats: true };
      const once: QuantizedCase = { ...one, steps: 1, feeds: false };
      const hosts = ['a', 'a', 'b'];
      for (const envOf of [() => overTcp, (rank: number) => ({ RINGRUN_HOST_ID: hosts[rank] })]) {
        const reports = await runRanks(3, 'quantizedAllReduces', { args: { cases: [one, once] }, envOf });
        const inputs = [0, 1, 2].map((rank) => quantizedData(one, rank, 0));
        const exact = exactOf(inputs, 3);
        const bounds = boundsOf(bits, inputs, exact, 3);
        for (const { found } of reports) {
          const [many, single] = found as Found[];
          expect(many.hashes).toEqual((reports[0]['found'] as Found[])[0].hashes);
          const errors = Array.from(exact, (value, i) => Math.abs(single.mean![i] - value) / bounds[i]);
          expect(Math.max(...errors)).toBeLessThanOrEqual(1);
          // Without rounding there is nothing to bound.
          expect(Math.max(...errors)).toBeGreaterThan(0.1);
          // The error that a step adds may raise the largest magnitude of a block.
          const ofMean = Array.from(exact, (value, i) => Math.abs(many.mean![i] - value) / bounds[i]);
          expect(Math.max(...ofMean)).toBeLessThanOrEqual(1.25 / steps);
        }
      }
    },
  );
});

test('on one host, a quantized all-reduce is exact and leaves the error as it is', async () => {
  const one: QuantizedCase = { length: 1000, bits: 4, op: 'SUM', steps: 1, feeds: true };
  const reports = await runRanks(3, 'quantizedAllReduces', {
    args: { cases: [one] },
    env: { RINGRUN_TRANSPORT: 'shm' },
  });
  const inputs = [0, 1, 2].map((rank) => quantizedData(one, rank, 0));
  const sum = inputs[0].map((first, i) => fround(fround(first + inputs[1][i]) + inputs[2][i]));
  for (const { found } of reports) {
    expect(found).toEqual([{ hashes: [hashOf(sum)], error: hashOf(new Float32Array(1000)) }]);
  }
});

test('the state of an error goes into another one of the same length', () => {
  const from = new QuantizationError(3);
  from.values.set([1, -2, 0.5]);
  const to = new QuantizationError(3);
  to.loadStateDict(from.stateDict());
  expect([...to.values]).toEqual([1, -2, 0.5]);
  expect(to.values).not.toBe(from.values);
  expect(() => {
    new QuantizationError(4).loadStateDict(from.stateDict());
  }).toThrow('QuantizationError: expected the state of 4 elements, got 3.');
});

test('wrong arguments are rejected before anything is sent', async () => {
  const group = await createCpuGroup({ store: new HashStore(), rank: 0, size: 1 });
  const data = Float32Array.of(1, 2, 3);
  const refused = [
    [data, { bits: 16 }, 'bits: expected 8 or 4, got 16'],
    [data, { bits: 8, op: 'MAX' }, "op: expected SUM or AVG, got 'MAX'"],
    [data, { bits: 8, error: new QuantizationError(4) }, 'expected a QuantizationError of 3 elements'],
    [data, { bits: 8, error: new Float32Array(3) }, 'got of class Float32Array'],
    [new Float64Array(3), { bits: 8 }, 'expected a Float32Array, got float64'],
    [data, { bits: 8, mean: true }, 'mean'],
  ] as const;
  for (const [given, options, problem] of refused) {
    const call = () => {
      allReduceQuantizedSync(group, given as Float32Array, options as never);
    };
    expect(call).toThrow(InvalidArgumentError);
    expect(call).toThrow(problem);
    await expect(allReduceQuantized(group, given as Float32Array, options as never)).rejects.toThrow(problem);
  }
  expect(() => {
    allReduceQuantizedSync({}, data, { bits: 8 });
  }).toThrow('expected a group of initProcessGroup or newGroup');
  await allReduceQuantized(group, data, { bits: 8 });
  expect([...data]).toEqual([1, 2, 3]);
  await group.destroy();
});
