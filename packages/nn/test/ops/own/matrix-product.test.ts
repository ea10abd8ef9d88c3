import { describe, expect, test } from 'vitest';
import { F, Parameter, tensor, type Tensor } from '../../../src/index.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose, largest } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

/** The values and the gradients of parameters of these shapes. */
async function trained(shapes: readonly (readonly number[])[], compute: (...operands: Tensor[]) => Tensor) {
  const operands = shapes.map((shape, seed) => new Parameter(fill(shape, seed + 1), shape));
  const result = compute(...operands);
  const values = (await result.array()) as Float32Array;
  await result
    .mul(tensor(fill(result.shape, 9), result.shape))
    .sum()
    .backward();
  return [values, ...operands.map(({ grad }) => grad!.slice())];
}

async function expectLikePlain(
  shapes: readonly (readonly number[])[],
  compute: (...operands: Tensor[]) => Tensor,
): Promise<void> {
  const { own, plain } = await bothWays(() => trained(shapes, compute));
  for (const [position, array] of own.entries()) {
    // Sums of one column may nearly cancel.
    expectClose(`array ${position}`, array, plain[position], 2e-6, Math.max(1, largest(plain[position])));
  }
}

const sizes = [1, 4, 15, 16, 17, 33, 100];

describe.each(sizes)('%i rows', (rows) => {
  test.each(sizes)('of %i inner elements equal plain products, with their gradients', async (inner) => {
    for (const columns of [1, 16, 31, 97]) {
      await expectLikePlain(
        [
          [rows, inner],
          [inner, columns],
        ],
        (a, b) => a.matmul(b),
      );
      await expectLikePlain([[rows, inner], [columns, inner], [columns]], (x, weight, bias) =>
        F.gelu(F.linear(x, weight, bias)),
      );
    }
  });
});

test.each([
  [
    [3, 5, 7, 11],
    [3, 5, 11, 13],
  ],
  [
    [2, 1, 7, 11],
    [1, 5, 11, 13],
  ],
  [
    [4, 7, 11],
    [11, 13],
  ],
  [
    [7, 11],
    [4, 11, 13],
  ],
  [
    [2, 3, 20, 8],
    [3, 8, 20],
  ],
])('leading axes broadcast: %j times %j', async (a, b) => {
  await expectLikePlain([a, b], (left, right) => left.matmul(right));
});

test('operands may be transposed', async () => {
  const transposed = (x: Tensor) => x.transpose(-2, -1);
  await expectLikePlain(
    [
      [3, 9, 20],
      [3, 9, 17],
    ],
    (a, b) => transposed(a).matmul(b),
  );
  await expectLikePlain(
    [
      [3, 20, 9],
      [3, 17, 9],
    ],
    (a, b) => a.matmul(transposed(b)),
  );
  await expectLikePlain(
    [
      [3, 9, 20],
      [3, 17, 9],
    ],
    (a, b) => transposed(a).matmul(transposed(b)),
  );
});

test('GELU of a product whose value is read too', async () => {
  await expectLikePlain(
    [
      [6, 20],
      [30, 20],
    ],
    (x, weight) => {
      const hidden = F.linear(x, weight);
      return F.gelu(hidden).add(hidden.sin());
    },
  );
});

test('NaN, infinities and denormal numbers give the results of plain products', async () => {
  const a = fill([6, 40], 1);
  const b = fill([40, 20], 2);
  a.set([NaN, Infinity, -Infinity, 1e-40, 3e-39], 45);
  a.set([1e-38, -1e-39], 200);
  const { own, plain } = await bothWays(async () =>
    tensor(a, [6, 40])
      .matmul(tensor(b, [40, 20]))
      .array(),
  );
  const isFinite = (element: number | bigint) => Number.isFinite(Number(element));
  expect(Array.from(own, isFinite)).toEqual(Array.from(plain, isFinite));
  expectClose(
    'finite',
    Array.from(own, Number).filter(isFinite),
    Array.from(plain, Number).filter(isFinite),
    2e-6,
  );
  const tiny = tensor(new Float32Array(5 * 20).fill(2e-39), [5, 20]);
  const sums = await tiny.matmul(tensor(new Float32Array(20 * 16).fill(1), [20, 16])).array();
  expect([...sums]).toEqual(Array<number>(5 * 16).fill(Math.fround(20 * Math.fround(2e-39))));
});

test('bits do not depend on the number of threads', async () => {
  const compute = () =>
    trained([[300, 200], [150, 200], [150]], (x, weight, bias) => F.gelu(F.linear(x, weight, bias)));
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test('no elements', async () => {
  await expectLikePlain(
    [
      [6, 0],
      [0, 5],
    ],
    (a, b) => a.matmul(b),
  );
  expect(
    (
      await tensor(new Float32Array(0), [0, 5])
        .matmul(tensor(fill([5, 3], 1), [5, 3]))
        .array()
    ).length,
  ).toBe(0);
});
