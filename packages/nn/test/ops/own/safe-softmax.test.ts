import { describe, expect, test } from 'vitest';
import { F, nn, Parameter, tensor, Tensor } from '../../../src/index.ts';
import { safeSoftmax } from '../../../src/ops/own/safe-softmax.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

/** The result and the gradient of rows of `width` elements. */
async function trained(x: Float32Array, width: number): Promise<[y: Float32Array, dx: Float32Array]> {
  const shape = [x.length / width, width];
  const input = new Parameter(x.slice(), shape);
  const y = new Tensor(safeSoftmax(input.value));
  const values = (await y.array()) as Float32Array;
  await y
    .mul(tensor(fill(shape, 2), shape))
    .sum()
    .backward();
  return [values, input.grad!.slice()];
}

/** Around the widths of vectors, and more than one part. */
describe.each([1, 7, 16, 33, 1023])('rows of %i elements', (width) => {
  test('agree with plain operators; rows of −∞ are 0, with the gradient 0', async () => {
    const x = fill([40, width], 1).map((one, i) =>
      Math.floor(i / width) % 3 === 1 || one > 0.9 ? -Infinity : 7 * one,
    );
    const { own, plain } = await bothWays(() => trained(x, width));
    for (const [name, k] of [
      ['y', 0],
      ['dx', 1],
    ] as const) {
      expectClose(name, own[k], [...plain[k]], 1e-6);
      expect([...own[k].subarray(width, 2 * width)].map(Math.abs)).toEqual(Array(width).fill(0));
    }
  });
});

test('NaN, even among −∞, and ∞ result in NaN', async () => {
  const rows = [
    [NaN, -Infinity, -Infinity],
    [-Infinity, -Infinity, NaN],
    [NaN, 1, 2],
    [Infinity, 1, 2],
    [-Infinity, -Infinity, -Infinity],
    [-Infinity, 3, -Infinity],
  ];
  const { own, plain } = await bothWays(async () =>
    new Tensor(safeSoftmax(tensor(Float32Array.from(rows.flat()), [6, 3]).value)).array(),
  );
  expect([...own]).toEqual([...plain]);
  expect([...own]).toEqual([...Array<number>(12).fill(NaN), 0, 0, 0, 0, 1, 0]);
});

test('results are bit-identical for any number of threads', async () => {
  const compute = () => trained(fill([400, 100], 1), 100);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test('the weights of a query that attends to no key are 0', async () => {
  const attention = new nn.MultiheadAttention(4, 2, { batchFirst: true });
  const x = tensor(fill([2, 3, 4], 1), [2, 3, 4]);
  const keyPaddingMask = tensor([false, false, true, true, true, true], [2, 3]);
  const { weights } = attention.forward(x, x, x, { keyPaddingMask });
  const rows = [...((await weights.array()) as Float32Array)];
  expect(rows.slice(9)).toEqual(Array(9).fill(0));
  for (const row of [0, 3, 6]) expect(rows[row] + rows[row + 1]).toBeCloseTo(1, 6);
});

test('rejects masks of integers, naming the option', () => {
  const x = tensor(fill([2, 3, 4], 1), [2, 3, 4]);
  const [square, padding] = [tensor(new BigInt64Array(9), [3, 3]), tensor(new BigInt64Array(6), [2, 3])];
  expect(() => F.scaledDotProductAttention(x, x, x, { attnMask: square })).toThrow(
    'scaledDotProductAttention: expected an attnMask of bool or float32, got int64[3,3].',
  );
  const attention = new nn.MultiheadAttention(4, 2, { batchFirst: true });
  expect(() => attention.forward(x, x, x, { keyPaddingMask: padding })).toThrow(
    'MultiheadAttention: expected a keyPaddingMask of bool or float32, got int64[2,3].',
  );
  expect(() => attention.forward(x, x, x, { attnMask: square })).toThrow(
    'MultiheadAttention: expected an attnMask of bool or float32, got int64[3,3].',
  );
});
