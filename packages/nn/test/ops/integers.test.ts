import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import {
  arange,
  cat,
  exportOnnx,
  F,
  full,
  fullLike,
  nn,
  Parameter,
  tensor,
  where,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

// torch's results: numbers, bigints and int64 tensors are exact, and dtypes are promoted.

const I = (...integers: (number | bigint)[]) => tensor(BigInt64Array.from(integers, BigInt));
const f = (...numbers: number[]) => tensor(Float32Array.from(numbers));
const mask = tensor([true, false]);
const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)];

const written = async (x: Tensor) => [x.dtype, ...(await x.array())];

type Case = [what: string, compute: () => Tensor, dtype: string, ...elements: (number | bigint)[]];

describe('an int64 tensor and a number', () => {
  test.each<Case>([
    ['eq', () => I(16777216, 16777217).eq(16777217), 'bool', 0, 1],
    ['ne', () => I(2n ** 53n, 2n ** 53n + 1n).ne(2n ** 53n), 'bool', 0, 1],
    ['ge', () => I(1700000000122, 1700000000123).ge(1700000000123), 'bool', 0, 1],
    ['le', () => I(least, least + 1n).le(least), 'bool', 1, 0],
    ['gt', () => I(most - 1n, most).gt(most - 1n), 'bool', 0, 1],
    ['lt', () => I(2 ** 60, 2n ** 60n - 1n).lt(2 ** 60), 'bool', 0, 1],
    ['ne of a fraction', () => I(1, 2).ne(1.5), 'bool', 1, 1],
    ['lt of infinity', () => I(1, most).lt(Infinity), 'bool', 1, 1],
    ['gt of -infinity', () => I(1, least).gt(-Infinity), 'bool', 1, 1],
    ['le of NaN', () => I(1, 2).le(NaN), 'bool', 0, 0],
    ['eq of a number above int64', () => I(1, most).eq(2 ** 63), 'bool', 0, 1],
    ['add', () => I(16777216, most).add(1), 'int64', 16777217n, least],
    ['sub', () => I(16777216, least).sub(1), 'int64', 16777215n, most],
    ['mul', () => I(16777217, -7).mul(3), 'int64', 50331651n, -21n],
    ['add of a fraction', () => I(1, -2).add(0.5), 'float32', 1.5, -1.5],
    ['div', () => I(7, -7).div(2), 'float32', 3.5, -3.5],
    ['maximum', () => I(2n ** 32n + 5n, -7).maximum(6), 'int64', 2n ** 32n + 5n, 6n],
    ['minimum', () => I(2n ** 32n + 5n, -7).minimum(6), 'int64', 6n, -7n],
    ['maximum of a fraction', () => I(3, -7).maximum(1.5), 'float32', 3, 1.5],
    ['clamp', () => I(1, 2n ** 60n).clamp(7, 16777217), 'int64', 7n, 16777217n],
    ['clamp to a bigint', () => I(1, most).clamp(null, 2n ** 53n + 1n), 'int64', 1n, 2n ** 53n + 1n],
    ['clamp, min above max', () => I(1, 9).clamp(7, 3), 'int64', 3n, 3n],
    ['clamp to a fraction', () => I(1, 9).clamp(1.5), 'float32', 1.5, 9],
    ['hardtanh', () => F.hardtanh(I(2n ** 53n + 1n, -7), -2, 2 ** 60), 'int64', 2n ** 53n + 1n, -2n],
    ['hardtanh to fractions', () => F.hardtanh(I(-3, 0, 5), -1.5, 1.5), 'int64', -1n, 0n, 1n],
    ['relu6', () => F.relu6(I(-3, 5, 7)), 'int64', 0n, 5n, 6n],
    ['threshold', () => F.threshold(I(-3, 0, 1, most), 0.5, 5.5), 'int64', 5n, 5n, 1n, most],
    ['threshold of a fraction', () => F.threshold(I(0, 1), -0.5, 9), 'int64', 9n, 1n],
    ['maskedFill', () => I(1, 2).maskedFill(mask, 16777217), 'int64', 16777217n, 2n],
    ['maskedFill with a bigint', () => I(1, 2).maskedFill(mask, most), 'int64', most, 2n],
    ['maskedFill with a fraction', () => I(1, 2).maskedFill(mask, -1.5), 'int64', -1n, 2n],
    ['scatter', () => I(1, 2).scatter(0, I(1), 16777217), 'int64', 1n, 16777217n],
    ['where', () => I(1, 2).where(mask, 16777217), 'int64', 1n, 16777217n],
    ['where of a fraction', () => where(mask, I(1, 2), 1.5), 'float32', 1, 1.5],
    ['where of two numbers', () => where(mask, 16777217, -1), 'int64', 16777217n, -1n],
    ['pad', () => F.pad(I(1), [0, 1], { value: 2n ** 53n + 1n }), 'int64', 1n, 2n ** 53n + 1n],
    ['pad with a fraction', () => F.pad(I(1), [1, 0], { value: 2.5 }), 'int64', 2n, 1n],
    ['pow', () => I(-7, 3).pow(35), 'int64', BigInt.asIntN(64, (-7n) ** 35n), 50031545098999707n],
    ['pow, which wraps around', () => I(3, 1).pow(70), 'int64', BigInt.asIntN(64, 3n ** 70n), 1n],
    ['pow of 0', () => I(3, 0).pow(0), 'int64', 1n, 1n],
    ['pow of a root', () => I(4, 9).pow(0.5), 'float32', 2, 3],
    ['square', () => I(16777217, -3).square(), 'int64', 16777217n ** 2n, 9n],
  ])('%s', async (_, compute, ...expected) => {
    expect(await written(compute())).toEqual(expected);
  });

  test('another number or bigint does not recompile', async () => {
    const compute = (number: number | bigint) => I(5, 6).add(number).clamp(number).remainder(number);
    await compute(3).array();
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    expect(await compute(2n ** 53n + 1n).array()).toEqual(BigInt64Array.of(5n, 6n));
    expect(await compute(16777217).array()).toEqual(BigInt64Array.of(5n, 6n));
    expect(compile).not.toHaveBeenCalled();
    compile.mockRestore();
  });
});

describe('a division of integers', () => {
  const rows: [bigint, bigint][] = [
    ...[7n, -7n, 1000000008n, most, least].flatMap((a) =>
      [3n, -3n, -1n, 1000000007n].map((b) => [a, b] as [bigint, bigint]),
    ),
    [least, least],
    [most, least],
  ];
  const [a, b] = [I(...rows.map(([one]) => one)), I(...rows.map(([, other]) => other))];
  const wrapped = (compute: (a: bigint, b: bigint) => bigint) =>
    BigInt64Array.from(rows, ([one, other]) => BigInt.asIntN(64, compute(one, other)));
  const remainder = (x: bigint, y: bigint) => ((x % y) + y) % y;

  test('has the remainder of Python, of C, and the quotient of both', async () => {
    expect(await a.remainder(b).array()).toEqual(wrapped(remainder));
    expect(await a.fmod(b).array()).toEqual(wrapped((x, y) => x % y));
    expect(await a.floorDivide(b).array()).toEqual(wrapped((x, y) => (x - remainder(x, y)) / y));
  });

  test('by 0 is rejected if the divisor is known', () => {
    for (const divide of ['remainder', 'fmod', 'floorDivide'] as const) {
      for (const zero of [0, 0n, -0, I(0)]) {
        expect(() => I(1)[divide](zero)).toThrow(`${divide}: an int64 divisor must not be 0.`);
      }
    }
  });

  test('by a computed 0 returns 0, and does not end the process', async () => {
    const zero = I(5).sub(5);
    for (const divide of ['remainder', 'fmod', 'floorDivide'] as const) {
      expect(await I(7, least)[divide](zero).array()).toEqual(BigInt64Array.of(0n, 0n));
    }
  });

  test('of floats is exact at a multiple, as in Python', async () => {
    expect(await f(1, -1, 255, 7, -0.5).floorDivide(0.1).array()).toEqual(
      Float32Array.of(9, -10, 2549, 69, -5),
    );
    expect(await f(1, -1, 0).floorDivide(0).array()).toEqual(Float32Array.of(Infinity, -Infinity, NaN));
    expect(await f(1, -1).floorDivide(Infinity).array()).toEqual(Float32Array.of(0, -1));
  });
});

describe('int64 above 2^53', () => {
  const large = 2n ** 53n + 1n;
  test.each<Case>([
    ['neg', () => I(large, -1).neg(), 'int64', -large, 1n],
    ['abs', () => I(-large, 1).abs(), 'int64', large, 1n],
    ['sign', () => I(-large, 0).sign(), 'int64', -1n, 0n],
    ['relu', () => I(-large, large).relu(), 'int64', 0n, large],
    ['floor', () => I(large).floor(), 'int64', large],
    ['round', () => I(large).round(), 'int64', large],
    ['trunc', () => I(-large).trunc(), 'int64', -large],
    ['sum', () => I(large, 1, 2).sum(), 'int64', large + 3n],
    ['sum, which wraps around', () => I(most, 1).sum(), 'int64', least],
    ['sum of axes', () => I(large, 1, 2, 3, 5, 6, 7, 8).view(2, 2, 2).sum([0, 2]), 'int64', large + 12n, 20n],
    [
      'sum of a dimension that stays',
      () => I(large, 1, 2, 3).view(2, 2).sum([-1], true).view(2),
      'int64',
      large + 1n,
      5n,
    ],
    ['amax', () => I(large, large - 1n).amax(), 'int64', large],
    ['amin', () => I(least, 0, -large).amin(), 'int64', least],
    ['prod', () => I(large, 3).prod(), 'int64', 3n * large],
    ['cumsum', () => I(large, 1).cumsum(0), 'int64', large, large + 1n],
    ['maximum', () => I(large, -large).maximum(I(large - 1n, -large - 1n)), 'int64', large, -large],
    ['minimum', () => I(2n ** 32n + 1n, large).minimum(I(5, large - 1n)), 'int64', 5n, large - 1n],
    ['max of a dimension', () => I(large - 1n, large).max(0).indices, 'int64', 1n],
    ['sort', () => I(large, large - 1n).sort().values, 'int64', large - 1n, large],
    ['topk', () => I(large - 1n, large).topk(1).values, 'int64', large],
    ['scatterAdd', () => I(1, 2).scatterAdd(0, I(0, 0), I(large, 1)), 'int64', large + 2n, 2n],
    ['diff', () => I(large, 2n * large).diff(), 'int64', large],
    ['tensor of a list', () => tensor([2 ** 60, 5]), 'int64', 2n ** 60n, 5n],
    ['full', () => full([2], large, { dtype: 'int64' }), 'int64', large, large],
    ['fullLike', () => fullLike(I(0), most), 'int64', most],
    ['arange', () => arange(large - 1n, large + 2n), 'int64', large - 1n, large, large + 1n],
    [
      'arange of numbers',
      () => arange(2 ** 53, 2 ** 53 + 8, 3),
      'int64',
      2n ** 53n,
      2n ** 53n + 3n,
      2n ** 53n + 6n,
    ],
    ['long', () => f(2 ** 60).long(), 'int64', 2n ** 60n],
  ])('%s is exact', async (_, compute, ...expected) => {
    expect(await written(compute())).toEqual(expected);
  });
});

describe('dtypes are promoted', () => {
  test.each<Case>([
    ['int64 and float32', () => I(1, 2).add(f(0.5, 1)), 'float32', 1.5, 3],
    ['float32 and int64', () => f(0.5, 1).mul(I(3, 4)), 'float32', 1.5, 4],
    ['bool and an integer', () => mask.add(2), 'int64', 3n, 2n],
    ['bool and a fraction', () => mask.mul(1.5), 'float32', 1.5, 0],
    ['bool and bool', () => mask.add(mask), 'bool', 1, 0],
    ['bool eq 2', () => mask.eq(2), 'bool', 0, 0],
    ['bool lt bool', () => mask.lt(tensor([false, true])), 'bool', 0, 1],
    ['bool ge bool', () => mask.ge(tensor([true, true])), 'bool', 1, 0],
    ['where of bool', () => where(mask, mask, tensor([false, true])), 'bool', 1, 1],
    ['maskedFill of bool', () => mask.maskedFill(tensor([false, true]), 0.5), 'bool', 1, 1],
    ['maximum of bool', () => mask.maximum(tensor([false, false])), 'bool', 1, 0],
    ['sum of bool', () => mask.sum(), 'int64', 1n],
    ['cumsum of bool', () => mask.cumsum(0), 'int64', 1n, 1n],
    ['amin of bool', () => mask.amin(), 'bool', 0],
    ['sort of bool', () => mask.sort().values, 'bool', 0, 1],
    ['exp of int64', () => I(0).exp(), 'float32', 1],
    ['isnan of int64', () => I(0, 1).isnan(), 'bool', 0, 0],
    ['isfinite of int64', () => I(0, most).isfinite(), 'bool', 1, 1],
    ['float32 and a bigint', () => f(16777216, 1).eq(16777217n), 'bool', 1, 0],
    [
      'float32 and a bigint that float64 would round first',
      () => f(0).add(2n ** 60n + 2n ** 36n + 1n),
      'float32',
      2 ** 60 + 2 ** 37,
    ],
    [
      'float32 and a negative one',
      () => f(0).add(-(2n ** 60n) - 2n ** 36n - 1n),
      'float32',
      -(2 ** 60) - 2 ** 37,
    ],
  ])('%s', async (_, compute, ...expected) => {
    expect(await written(compute())).toEqual(expected);
  });

  test('and gradients reach the float32 operand', async () => {
    const weight = new Parameter(Float32Array.of(0.5, 1), [2]);
    await weight.mul(I(3, 4)).add(mask).sum().backward();
    expect(weight.grad).toEqual(Float32Array.of(3, 4));
  });
});

test.each<[what: string, run: () => unknown, message: string]>([
  [
    'a bigint above int64',
    () => I(1).add(2n ** 63n),
    'expected an integer from -2^63 to 2^63 - 1, got 9223372036854775808',
  ],
  ['NaN in int64', () => I(1).maskedFill(mask, NaN), 'expected an integer from -2^63 to 2^63 - 1, got NaN'],
  ['infinity in int64', () => full([1], Infinity, { dtype: 'int64' }), 'got Infinity'],
  ['a negative power', () => I(2).pow(-1), 'pow: expected an exponent of at least 0 for int64, got -1'],
  ['a text', () => f(1).add('2' as never), 'add: expected a tensor, a number, a bigint or a boolean, got 2.'],
])('rejects %s', (_, run, message) => {
  expect(run).toThrow(message);
});

test('item rejects an integer that a number would round', async () => {
  const x = I(2n ** 53n + 1n);
  await expect(x.item()).rejects.toThrow('item: expected an integer that a number holds exactly');
  expect(() => x.add(0).itemSync()).toThrow('got 9007199254740993. Read the bigint');
  expect(await x.sub(2).item()).toBe(2 ** 53 - 1);
});

test('an exported model has the integers, and onnxruntime computes the same for any batch', async () => {
  class Ids extends nn.Module {
    forward(x: Tensor): Tensor {
      const ids = x
        .sub(2n ** 53n + 1n)
        .mul(3)
        .clamp(least + 5n, null);
      return cat([ids, ids.remainder(1000000007), ids.fmod(-7), ids.floorDivide(5), ids.pow(3)], 1).add(
        ids.sum([1], true),
      );
    }
  }
  const model = new Ids();
  const folder = await mkdtemp(join(tmpdir(), 'ringrun-integers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'ids.onnx');
  await writeFile(file, exportOnnx(model, { inputs: [{ shape: [2, 3], dtype: 'int64' }] }));
  const session = await ort.InferenceSession.create(file);
  for (const batch of [1, 2, 5]) {
    const data = BigInt64Array.from({ length: 3 * batch }, (_, i) => 2n ** 60n * BigInt(i - 2) + BigInt(i));
    const [output] = Object.values(await session.run({ input: new ort.Tensor('int64', data, [batch, 3]) }));
    expect(output.data).toEqual(await model.forward(tensor(data, [batch, 3])).array());
  }
});
