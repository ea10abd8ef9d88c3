import { describe, expect, test } from 'vitest';
import { F, nn, Parameter, Tensor, tensor } from '../../src/index.ts';
import { mul } from '../../src/ops/elementwise.ts';
import { fill, fillClasses } from '../support/fill.ts';
import '../support/one-thread.ts';

const logits = () => new Parameter(fill([6, 4], 1), [6, 4]);
const classes = tensor(fillClasses(6, 4, 1));

describe('a module equals its function with the same options', () => {
  const weight = tensor(Float32Array.of(1, 2, 3, 4));
  const target = tensor(fill([6, 4], 2), [6, 4]);
  test.each<[string, () => Tensor, () => Tensor]>([
    [
      'NLLLoss',
      () => new nn.NLLLoss({ weight, ignoreIndex: 2, reduction: 'sum' }).forward(logits(), classes),
      () => F.nllLoss(logits(), classes, { weight, ignoreIndex: 2, reduction: 'sum' }),
    ],
    [
      'CrossEntropyLoss',
      () => new nn.CrossEntropyLoss({ labelSmoothing: 0.3 }).forward(logits(), classes),
      () => F.crossEntropy(logits(), classes, { labelSmoothing: 0.3 }),
    ],
    [
      'MSELoss',
      () => new nn.MSELoss({ reduction: 'none' }).forward(logits(), target),
      () => F.mseLoss(logits(), target, { reduction: 'none' }),
    ],
    [
      'BCEWithLogitsLoss',
      () => new nn.BCEWithLogitsLoss({ posWeight: weight }).forward(logits(), target),
      () => F.binaryCrossEntropyWithLogits(logits(), target, { posWeight: weight }),
    ],
  ])('%s', async (_, module, expected) => {
    expect(await module().array()).toEqual(await expected().array());
  });
});

test('if all targets are ignored, loss and gradient are NaN, as in torch', async () => {
  const x = logits();
  const loss = F.nllLoss(x, tensor(new BigInt64Array(6).fill(-100n)));
  expect(await loss.item()).toBeNaN();
  const total = F.nllLoss(x, tensor(new BigInt64Array(6).fill(-100n)), { reduction: 'sum' });
  await total.backward();
  expect(await total.item()).toBe(0);
  expect(x.grad!.every((slope) => slope === 0)).toBe(true);
});

test('the contents of an ignored row do not matter', async () => {
  const x = new Parameter(Float32Array.of(-Infinity, NaN, -1, -2), [2, 2]);
  const loss = F.nllLoss(x, tensor(BigInt64Array.of(-100n, 1n)));
  await loss.backward();
  expect(await loss.item()).toBe(2);
  expect([...x.grad!].map((slope) => slope + 0)).toEqual([0, 0, 0, -1]);
});

test('computed targets may be classes or ignored', async () => {
  const x = logits();
  const computed = new Tensor(mul(classes.value, tensor(BigInt64Array.of(1n, 1n, 1n, 1n, 1n, 1n)).value));
  expect(await F.nllLoss(x, computed).item()).toBeCloseTo(await F.nllLoss(x, classes).item(), 6);
});

test('large logits neither overflow nor vanish', async () => {
  const x = new Parameter(Float32Array.of(1000, -1000, 50), [3]);
  const loss = F.binaryCrossEntropyWithLogits(x, tensor(Float32Array.of(0, 1, 1)), { reduction: 'none' });
  expect([...((await loss.array()) as Float32Array)]).toEqual([1000, 1000, Math.fround(Math.exp(-50))]);
  await loss.sum().backward();
  expect([...x.grad!.subarray(0, 2)]).toEqual([1, -1]);
});
