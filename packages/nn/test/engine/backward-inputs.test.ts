import { expect, test } from 'vitest';
import {
  ArgumentError,
  nn,
  ones,
  onesLike,
  Parameter,
  tensor,
  type BackwardOptions,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

const a = () => new Parameter(Float32Array.of(2, 3), [2]);

test('only the inputs receive gradients, which accumulate', async () => {
  const [first, second] = [a(), a()];
  const leaf = tensor([1, 2], { dtype: 'float32' }).requiresGrad_();
  const hidden = first.mul(second);
  hidden.retainGrad();
  const loss = hidden.mul(leaf).sum();
  await loss.backward({ inputs: [second, hidden], retainGraph: true });
  expect([first.grad, leaf.grad]).toEqual([undefined, undefined]);
  expect(second.grad).toEqual(Float32Array.of(2, 6));
  expect(hidden.grad).toEqual(Float32Array.of(1, 2));
  await loss.backward({ inputs: second, retainGraph: true });
  expect(second.grad).toEqual(Float32Array.of(4, 12));
  expect(hidden.grad).toEqual(Float32Array.of(1, 2));
  await loss.backward({ inputs: [leaf], retainGraph: true });
  expect(leaf.grad).toEqual(Float32Array.of(4, 9));
  expect(first.grad).toBeUndefined();
  await loss.backward();
  expect(first.grad).toEqual(Float32Array.of(2, 6));
  expect(second.grad).toEqual(Float32Array.of(6, 18));
});

test('the gradient of the tensor may be an option, as in torch', async () => {
  const [first, second] = [a(), a()];
  const y = first.mul(second);
  await y.backward({ gradient: tensor([1, 10], { dtype: 'float32' }), inputs: first, createGraph: false });
  expect(first.grad).toEqual(Float32Array.of(2, 30));
  expect(second.grad).toBeUndefined();
  const z = first.mul(second);
  await z.backward(onesLike(z), { inputs: second });
  expect(second.grad).toEqual(Float32Array.of(2, 3));
});

test('a layer trains alone', async () => {
  const last = new nn.Linear(2, 1);
  const model = new nn.Sequential(new nn.Linear(2, 2), last);
  await model.forward(ones(3, 2)).sum().backward({ inputs: last.parameters() });
  expect(model.parameters().map(({ grad }) => grad !== undefined)).toEqual([false, false, true, true]);
});

test.each([
  [{ inputs: [] }, 'backward: expected at least one tensor as inputs, got [].'],
  [{ inputs: [3 as never] }, 'backward: expected a tensor or a list of tensors as inputs, got 3.'],
  [{ inputs: ones(2) }, 'backward: input 0, float32[2], has no gradient. Set requiresGrad = true'],
  [
    { inputs: a().mul(2) },
    'backward: input 0, float32[2], is computed from other tensors and keeps no gradient. Call x.retainGrad() first.',
  ],
  [
    { createGraph: true as never },
    'backward: expected createGraph false, got true, because grad is an array without a graph.',
  ],
] as [BackwardOptions, string][])(
  '%#: names what cannot be an option, and changes nothing',
  async (options, message) => {
    const parameter = a();
    const loss: Tensor = parameter.sum();
    await expect(loss.backward(options)).rejects.toThrow(ArgumentError);
    await expect(loss.backward(options)).rejects.toThrow(message);
    expect(parameter.grad).toBeUndefined();
    await loss.backward();
    expect(parameter.grad).toEqual(Float32Array.of(1, 1));
  },
);
