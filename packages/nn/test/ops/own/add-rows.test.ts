import { expect, test } from 'vitest';
import { F, Parameter, Tensor, tensor } from '../../../src/index.ts';
import { add } from '../../../src/ops/elementwise.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import '../../support/one-thread.ts';

/** The gradient of a table [count, width] that is looked up at `rows`. */
async function trained(rows: Tensor, count: number, width: number, paddingIdx?: number) {
  const table = new Parameter(fill([count, width], 1), [count, width]);
  const factors = tensor(fill([...rows.shape, width], 2), [...rows.shape, width]);
  await F.embedding(rows, table, { paddingIdx }).mul(factors).sum().backward();
  return table.grad!.slice();
}

const rowsOf = (shape: readonly number[], count: number) =>
  tensor(
    BigInt64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => BigInt((k * k + 3) % count)),
    shape,
  );

test.each([
  [1, 1, [1]],
  [1, 17, [40]],
  [7, 1, [5]],
  [7, 15, [3, 5]],
  [100, 33, [2, 3, 50]],
  [2000, 64, [64, 5]],
])(
  '%i rows of %i elements, looked up %o, are bit-identical to plain operators',
  async (count, width, shape) => {
    const rows = rowsOf(shape, count);
    for (const padding of [undefined, 0, count - 1]) {
      const { own, plain } = await bothWays(() => trained(rows, count, width, padding));
      expect(own).toEqual(plain);
    }
  },
);

test('results are bit-identical for any number of threads', async () => {
  const rows = rowsOf([64, 50], 3000);
  const compute = () => trained(rows, 3000, 128);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test('NaN reaches its row only', async () => {
  const table = new Parameter(fill([4, 2], 1), [4, 2]);
  const factors = tensor(Float32Array.of(1, 2, NaN, Infinity, 3, -Infinity, 4, 5), [4, 2]);
  const rows = tensor(BigInt64Array.of(2n, 1n, 1n, 2n));
  await F.embedding(rows, table).mul(factors).sum().backward();
  expect([...table.grad!]).toEqual([0, 0, NaN, NaN, 5, 7, 0, 0]);
});

test('computed rows out of range fail, and later runs succeed', async () => {
  const computed = (row: bigint) => {
    const rows = tensor(BigInt64Array.of(1n, row));
    return new Tensor(add(rows.value, tensor(BigInt64Array.of(0n, 0n)).value));
  };
  const { own, plain } = await bothWays(() => trained(computed(2n), 3, 5));
  expect(own).toEqual(plain);
  await expect(trained(computed(3n), 3, 5)).rejects.toThrow('embedding: expected rows from 0 to 2, got 3');
  await expect(trained(computed(-1n), 3, 5)).rejects.toThrow('embedding: expected rows from 0 to 2, got -1');
  expect(await trained(computed(2n), 3, 5)).toEqual(own);
});
