import { expect, test } from 'vitest';
import { Parameter, tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

// As in torch, NaN is larger than infinity for sort, topk and kthvalue, and is the maximum, the minimum and the median.

const MAX = 3.4028234663852886e38;
const elements = Float32Array.of(1, Infinity, NaN, -Infinity, MAX, -0.5, -MAX);
const x = () => tensor(elements);
const numbers = async (one: { array(): Promise<ArrayLike<number | bigint>> }) =>
  Array.from(await one.array(), Number);

test('sort puts NaN after infinity, and before it if descending', async () => {
  const ascending = [-Infinity, -MAX, -0.5, 1, MAX, Infinity, NaN];
  expect(await numbers(x().sort().values)).toEqual(ascending);
  expect(await numbers(x().sort(0, true).values)).toEqual(ascending.toReversed());
  expect(await numbers(x().argsort())).toEqual([3, 6, 5, 0, 4, 1, 2]);
});

test('topk of the largest begins with NaN; of the smallest it has none', async () => {
  expect(await numbers(x().topk(2).values)).toEqual([NaN, Infinity]);
  expect(await numbers(x().topk(2, 0, false).values)).toEqual([-Infinity, -MAX]);
  expect(await numbers(x().kthvalue(7).values)).toEqual([NaN]);
});

test('maximum, minimum and median along a dimension are NaN, and where it is', async () => {
  for (const { values, indices } of [x().max(0), x().min(0), x().median(0)]) {
    expect([await values.item(), await indices.item()]).toEqual([NaN, 2]);
  }
  expect(await x().median().item()).toBeNaN();
  expect([await x().argmax().item(), await x().argmin().item()]).toEqual([2, 2]);
});

test('without NaN, infinities are the largest and the smallest', async () => {
  const finite = tensor(Float32Array.of(MAX, Infinity, -MAX, -Infinity));
  expect([await finite.argmax().item(), await finite.argmin().item()]).toEqual([1, 3]);
  expect(await numbers(finite.sort().values)).toEqual([-Infinity, -MAX, MAX, Infinity]);
});

test('the gradient of a found element goes to its position', async () => {
  const parameter = new Parameter(Float32Array.of(1, NaN, 3), [3]);
  await parameter.topk(2).values.sum().backward();
  expect(parameter.grad).toEqual(Float32Array.of(0, 1, 1));
});

test('the sign of an int64 considers all 64 bits', async () => {
  const integers = tensor(BigInt64Array.of(2n ** 31n, -(2n ** 31n) - 1n, 2n ** 63n - 1n, -(2n ** 63n), 0n));
  expect(await numbers(integers.sign())).toEqual([1, -1, 1, -1, 0]);
});

test('a floored quotient has no gradient, even for a division by 0', async () => {
  const parameter = new Parameter(Float32Array.of(1, 0, 5), [3]);
  await parameter
    .floorDivide(tensor(Float32Array.of(0, 0, 2)))
    .add(parameter.mul(2))
    .sum()
    .backward();
  expect(parameter.grad).toEqual(Float32Array.of(2, 2, 2));
});

test('lerp starts at the nearer end, so that a weight of 1 returns it exactly', async () => {
  const [start, end] = [tensor(Float32Array.of(1e8, 0)), tensor(Float32Array.of(1, Infinity))];
  expect(await numbers(start.narrow(0, 0, 1).lerp(end.narrow(0, 0, 1), 1))).toEqual([1]);
  expect(await numbers(start.lerp(end, 0.25))).toEqual([75_000_000, Infinity]);
  const parameters = [2, 3].map((value) => new Parameter(Float32Array.of(value), [1]));
  await parameters[0].lerp(parameters[1], 0.75).sum().backward();
  expect(parameters.map(({ grad }) => grad![0])).toEqual([0.25, 0.75]);
});

test('the gradient of a norm is NaN where an element is', async () => {
  const parameter = new Parameter(Float32Array.of(NaN, 2), [2]);
  await parameter.norm(0.5).backward();
  expect(parameter.grad).toEqual(Float32Array.of(NaN, NaN));
});
