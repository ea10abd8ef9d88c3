import { expect, test } from 'vitest';
import {
  autograd,
  compileStep,
  enableGrad,
  F,
  inferenceMode,
  isGradEnabled,
  nn,
  noGrad,
  onesLike,
  optim,
  Parameter,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const input = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);

/** Two steps of a small critic with a gradient penalty and a hook. */
async function trained(way: 'separate calls' | 'compileStep'): Promise<[Float32Array, Float32Array, number]> {
  const weight = new Parameter(fill([1, 6], 1), [1, 6]);
  let calls = 0;
  weight.registerHook((gradient) => {
    calls += 1;
    return gradient.mul(2);
  });
  const optimizer = new optim.SGD([weight], { lr: 0.1, momentum: 0.9 });
  const x = input([4, 6], 2).requiresGrad_();
  const lossOf = (target: Tensor) => {
    const scores = F.linear(x, weight).tanh();
    const [slopes] = autograd.grad(scores, x, { gradOutputs: onesLike(scores), createGraph: true });
    return F.mseLoss(scores, target).add(slopes.norm(2, 1).sub(1).square().mean());
  };
  const step = compileStep(optimizer, lossOf, { traceOnce: true });
  for (let seed = 3; seed < 5; seed += 1) {
    if (way === 'compileStep') {
      await step(input([4, 1], seed));
      continue;
    }
    optimizer.zeroGrad();
    await lossOf(input([4, 1], seed)).backward();
    await optimizer.step();
  }
  return [weight.data, x.grad!, calls];
}

test('a step with hooks and gradients of gradients is the same in compileStep', async () => {
  const [weight, ofInput, calls] = await trained('separate calls');
  expect(await trained('compileStep')).toEqual([weight, ofInput, calls]);
  // The hook is called by grad for no parameter, and by each backward pass.
  expect(calls).toBe(2);
});

test('a hook that is removed during a pass is called in it for the last time', async () => {
  const x = input([3], 1).requiresGrad_();
  let calls = 0;
  const handles = [0, 1].map(() =>
    x.registerHook((gradient) => {
      calls += 1;
      for (const handle of handles) handle.remove();
      return gradient.mul(2);
    }),
  );
  const y = x.sum();
  await y.backward({ retainGraph: true });
  expect([calls, ...x.grad!]).toEqual([2, 4, 4, 4]);
  x.grad = undefined;
  await y.backward();
  expect([calls, ...x.grad!]).toEqual([2, 1, 1, 1]);
});

test('a leaf that is edited between passes has the gradient of its new elements', async () => {
  const elements = Float32Array.of(1, 2);
  const x = tensor(elements, [2], { requiresGrad: true });
  await x.square().sum().backward();
  elements.set([10, 20]);
  await x.square().sum().backward();
  expect(x.grad).toEqual(Float32Array.of(22, 44));
  x.requiresGrad = false;
  expect([x.requiresGrad, x.mul(2).requiresGrad, x.elements()]).toEqual([false, false, elements]);
});

test('gradients are disabled inside noGrad and inferenceMode, and enabled inside enableGrad', async () => {
  const x = input([2], 1).requiresGrad_();
  expect(noGrad(() => x.mul(2)).requiresGrad).toBe(false);
  expect(inferenceMode(() => x.mul(2)).requiresGrad).toBe(false);
  expect([isGradEnabled(), noGrad(isGradEnabled), noGrad(() => enableGrad(isGradEnabled))]).toEqual([
    true,
    false,
    true,
  ]);
  const y = noGrad(() => enableGrad(() => x.square().sum()));
  expect(await noGrad(() => autograd.grad(y, x))[0].array()).toEqual(fill([2], 1).map((one) => 2 * one));
});

test('non-finite gradients are named by detectAnomaly, also of tensors', async () => {
  const x = tensor(Float32Array.of(0, 1)).requiresGrad_();
  await expect(x.sqrt().sum().backward({ detectAnomaly: true })).rejects.toThrow('Div produced Infinity');
  expect(x.grad).toBeUndefined();
  const [gradient] = autograd.grad(x.sqrt().sum(), x);
  expect(await gradient.array()).toEqual(Float32Array.of(Infinity, 0.5));
});

test('outputs without a gradient reach no backward of a function, and its result may be differentiated twice', async () => {
  class SortedCube extends autograd.Function {
    static forward(context: autograd.FunctionContext, x: Tensor): [Tensor, Tensor, Tensor] {
      const { values, indices } = x.sort();
      const copy = values.mul(1);
      context.saveForBackward(x, values);
      context.markNonDifferentiable(copy);
      context.setMaterializeGrads(false);
      return [x.pow(3), copy, indices];
    }

    static backward(context: autograd.FunctionContext, ...gradients: (Tensor | undefined)[]): Tensor {
      const [x] = context.savedTensors;
      expect(gradients.slice(1)).toEqual([undefined, undefined]);
      return gradients[0]!.mul(x.square()).mul(3);
    }
  }
  const x = tensor(Float32Array.of(2, 1)).requiresGrad_();
  const [cube, copy, indices] = SortedCube.apply(x);
  expect([cube.requiresGrad, copy.requiresGrad, indices.dtype]).toEqual([true, false, 'int64']);
  const [first] = autograd.grad(cube.sum(), x, { createGraph: true });
  const [second] = autograd.grad(first.sum(), x, { createGraph: true });
  const [third] = autograd.grad(second.sum(), x);
  expect(await Promise.all([first, second, third].map(async (one) => await one.array()))).toEqual([
    Float32Array.of(12, 3),
    Float32Array.of(12, 6),
    Float32Array.of(6, 6),
  ]);
});

test('hooks of modules get undefined for inputs without a gradient, and none after they are removed', async () => {
  const layer = new nn.Linear(3, 2);
  const seen: (readonly (Tensor | undefined)[])[] = [];
  const handle = layer.registerFullBackwardHook((_, gradInput, gradOutput) => {
    seen.push(gradInput, gradOutput);
    return undefined;
  });
  const before = layer.registerFullBackwardPreHook((_, [gradient]) => gradient!.mul(3));
  const x = input([4, 3], 1);
  await layer.forward(x).sum().backward();
  expect(seen.map((gradients) => gradients.map((one) => one?.shape))).toEqual([[undefined], [[4, 2]]]);
  expect(layer.bias!.grad).toEqual(Float32Array.of(12, 12));
  handle.remove();
  before.remove();
  await layer.forward(x).sum().backward();
  expect(seen).toHaveLength(2);
  expect(layer.bias!.grad).toEqual(Float32Array.of(16, 16));
});
