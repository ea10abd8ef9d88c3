import { describe, expect, test } from 'vitest';
import { cat, F, full, Parameter, randLike, randnLike, tensor, where, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { roundedToBfloat16 as rounded } from '../support/rounded-to-bfloat16.ts';

const numbers = fill([3, 4], 1);
const x = tensor(numbers, [3, 4]);
const narrow = x.bfloat16();

test('elements are rounded to bfloat16, ties to even, and read as float32', async () => {
  const edges = Float32Array.of(1 + 2 ** -8, 1 + 3 * 2 ** -8, 3.4e38, -Infinity, NaN, 1e-40, -0);
  expect(await tensor(edges).to('bfloat16').array()).toEqual(
    Float32Array.of(1, 1 + 2 ** -6, Infinity, -Infinity, NaN, rounded([1e-40])[0], -0),
  );
  expect(narrow.dtype).toBe('bfloat16');
  expect(narrow.arraySync()).toEqual(rounded(numbers));
  expect(await full([2], 0.1, { dtype: 'bfloat16' }).array()).toEqual(rounded([0.1, 0.1]));
});

describe('promotion', () => {
  const scalar = tensor(Float32Array.of(0.1), []);
  test.each<[string, Tensor, string]>([
    ['a number does not promote', narrow.mul(2.5), 'bfloat16'],
    ['a tensor without dimensions does not promote', narrow.mul(scalar), 'bfloat16'],
    ['limits of a tensor without dimensions', scalar.bfloat16().clamp(-0.3, 0.3), 'bfloat16'],
    ['a negative limit of it', scalar.bfloat16().maximum(-0.3), 'bfloat16'],
    ['fmod by a number', narrow.fmod(0.3), 'bfloat16'],
    ['lerp to float32', narrow.lerp(x, 0.3), 'float32'],
    ['a method of several operations', narrow.expm1(), 'bfloat16'],
    ['a function of several operations', F.klDiv(narrow, narrow), 'bfloat16'],
    ['unequal windows', F.adaptiveAvgPool1d(narrow.unsqueeze(0), 3), 'bfloat16'],
    ['random numbers', randLike(narrow), 'bfloat16'],
    ['normal random numbers', randnLike(narrow), 'bfloat16'],
    ['float32 promotes', narrow.add(x), 'float32'],
    ['float32 promotes on the left', x.sub(narrow), 'float32'],
    ['two tensors without dimensions', scalar.bfloat16().add(scalar), 'float32'],
    ['int64 becomes bfloat16', narrow.mul(x.long()), 'bfloat16'],
    ['int64 with a fraction', x.long().add(0.1), 'float32'],
    ['cat', cat([narrow, x]), 'float32'],
    ['where', where(x.gt(0), narrow, 0), 'bfloat16'],
    ['relu', narrow.relu(), 'bfloat16'],
    ['sum', narrow.sum(), 'bfloat16'],
    ['mean', narrow.mean([0]), 'bfloat16'],
    ['softmax', narrow.softmax(-1), 'bfloat16'],
    ['layerNorm with a float32 weight', F.layerNorm(narrow, [4], tensor(fill([4], 2))), 'bfloat16'],
    ['matmul', narrow.matmul(narrow.transpose(0, 1)), 'bfloat16'],
    ['views', narrow.view(4, 3).transpose(0, 1).narrow(0, 0, 1), 'bfloat16'],
  ])('%s', async (_, result, dtype) => {
    expect(result.dtype).toBe(dtype);
    const elements = (await result.array()) as Float32Array;
    expect(elements).not.toContain(NaN);
    if (dtype === 'bfloat16') expect(elements).toEqual(rounded(elements));
    else expect(elements).not.toEqual(rounded(elements));
  });
});

test('sums accumulate in float32', async () => {
  const ones = tensor(new Float32Array(3000).fill(1)).bfloat16();
  expect(await ones.sum().item()).toBe(rounded([3000])[0]);
  expect(await ones.mul(1.0078125).sum().item()).toBe(rounded([3000 * 1.0078125])[0]);
});

test('a number is compared in bfloat16', async () => {
  const tenth = tensor(Float32Array.of(0.1)).bfloat16();
  expect(await tenth.eq(0.1).array()).toEqual(Uint8Array.of(1));
});

test('programs of equal operations and different dtypes are different', async () => {
  const twice = (value: Tensor) => value.add(value).sum([0]);
  const wide = await twice(x).array();
  expect(await twice(narrow).array()).not.toEqual(wide);
  expect(await twice(x).array()).toEqual(wide);
});

describe('gradients', () => {
  test('pass through casts in the dtype of each operand', async () => {
    const weight = new Parameter(fill([4, 2], 3), [4, 2]);
    await narrow.matmul(weight.bfloat16()).float().sum().backward();
    const sums = Array.from({ length: 4 }, (_, k) =>
      [0, 1, 2].reduce((sum, row) => sum + rounded(numbers)[row * 4 + k], 0),
    );
    const expected = rounded(sums);
    expect(weight.grad).toEqual(Float32Array.from([0, 1, 2, 3].flatMap((k) => [expected[k], expected[k]])));
  });

  test('a float32 operand that is promoted has a float32 gradient', async () => {
    const weight = new Parameter(fill([3, 4], 5), [3, 4]);
    await narrow.mul(weight).sum().backward();
    expect(weight.grad).toEqual(rounded(numbers));
  });

  test('a loss may be bfloat16', async () => {
    const weight = new Parameter(numbers, [3, 4]);
    const loss = weight.bfloat16().sum();
    await loss.backward();
    expect(weight.grad).toEqual(new Float32Array(12).fill(1));
    expect(rounded([await loss.item()])[0]).toBe(await loss.item());
  });
});
