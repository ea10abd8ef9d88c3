import { expect, test } from 'vitest';
import { autograd, Parameter, tensor, type Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

const numbers = async (x: Tensor) => [...((await x.array()) as Float32Array)];

test('first and second derivatives of a leaf', async () => {
  const x = tensor(Float32Array.of(1, 2, 3)).requiresGrad_();
  const y = x.pow(3).sum();
  const [g] = autograd.grad(y, x, { createGraph: true });
  expect(await numbers(g)).toEqual([3, 12, 27]);
  const [h] = autograd.grad(g.sum(), x);
  expect(await numbers(h)).toEqual([6, 12, 18]);
  expect(h.requiresGrad).toBe(false);
  await y.backward({ retainGraph: true });
  expect(x.grad).toEqual(Float32Array.of(3, 12, 27));
  await y.backward();
  expect(x.grad).toEqual(Float32Array.of(6, 24, 54));
});

test('a gradient penalty reaches parameters', async () => {
  const w = new Parameter(Float32Array.of(1, 2), [2]);
  const x = tensor(Float32Array.of(3, 4)).requiresGrad_();
  const y = x.mul(w).square().sum();
  const [g] = autograd.grad(y, x, { createGraph: true });
  await g.square().sum().backward();
  // g = 2 w² x, penalty 4 w⁴ x², its derivative 16 w³ x²
  expect(w.grad).toEqual(Float32Array.of(16 * 9, 16 * 8 * 16));
  expect(x.grad).toEqual(Float32Array.of(8 * 3, 8 * 16 * 4));
});

test('hooks change gradients', async () => {
  const w = new Parameter(Float32Array.of(1, 2), [2]);
  const y = w.mul(2);
  y.retainGrad();
  const seen: number[][] = [];
  const handle = y.registerHook((gradient) => gradient.mul(10));
  w.registerHook((gradient) => {
    void gradient.array().then((array) => seen.push([...(array as Float32Array)]));
    return undefined;
  });
  await y.square().sum().backward();
  expect(w.grad).toEqual(Float32Array.of(80, 160));
  expect(y.grad).toEqual(Float32Array.of(40, 80));
  handle.remove();
  expect(seen).toEqual([[80, 160]]);
});

test('Function', async () => {
  class Sign extends autograd.Function {
    static forward(context: autograd.FunctionContext, x: Tensor, scale: number): Tensor {
      context.saveForBackward(x);
      context['scale'] = scale;
      return x.sign();
    }
    static backward(context: autograd.FunctionContext, gradient: Tensor): (Tensor | undefined)[] {
      const [x] = context.savedTensors;
      return [gradient.mul(x).mul(context['scale'] as number), undefined];
    }
  }
  const w = new Parameter(Float32Array.of(3, -2), [2]);
  const y = Sign.apply(w, 5);
  await y.sum().backward();
  expect(w.grad).toEqual(Float32Array.of(15, -10));
  const [g] = autograd.grad(Sign.apply(w, 5).sum(), w, { createGraph: true });
  expect(await numbers(autograd.grad(g.sum(), w)[0])).toEqual([5, 5]);
});

test('functional', async () => {
  const f = (x: Tensor) => x.pow(3).sum();
  const x = tensor(Float32Array.of(1, 2));
  expect(await numbers(autograd.functional.hessian(f, x))).toEqual([6, 0, 0, 12]);
  expect(await numbers(autograd.functional.jacobian((a: Tensor) => a.mul(a), x))).toEqual([2, 0, 0, 4]);
  const [out, hv] = autograd.functional.hvp(f, x, tensor(Float32Array.of(1, 10)));
  expect(await numbers(out)).toEqual([9]);
  expect(await numbers(hv)).toEqual([6, 120]);
  const [, jv] = autograd.functional.jvp((a: Tensor) => a.mul(a), x, tensor(Float32Array.of(1, 10)));
  expect(await numbers(jv)).toEqual([2, 40]);
});

test('gradcheck', async () => {
  const x = tensor(Float32Array.of(0.5, 1.2, -0.3)).requiresGrad_();
  expect(await autograd.gradcheck((a) => a.tanh().mul(a), x)).toBe(true);
  expect(await autograd.gradgradcheck((a) => a.tanh().mul(a), x)).toBe(true);
  expect(await autograd.gradcheck((a) => a.mul(a.detach()), x, { raiseException: false })).toBe(false);
});
