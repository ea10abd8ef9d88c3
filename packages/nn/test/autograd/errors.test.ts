import { describe, expect, test } from 'vitest';
import { autograd, F, Parameter, tensor, type Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

const leaf = (...numbers: number[]) => tensor(Float32Array.from(numbers)).requiresGrad_();

class Wrong extends autograd.Function {
  static forward(_: autograd.FunctionContext, x: Tensor, y: Tensor | number): Tensor {
    return typeof y === 'number' ? x.mul(y) : x.add(y);
  }

  static given: autograd.FunctionGradients;

  static backward(): autograd.FunctionGradients {
    return Wrong.given;
  }
}

describe('errors', () => {
  test('of an output that is not one number name the ways to mend it', async () => {
    const y = leaf(1, 2).mul(2);
    await expect(y.backward()).rejects.toThrow(
      'expected a loss of one float32 number, got float32[2]. Reduce it first with sum() or mean(), or pass the gradient of each element',
    );
    expect(() => autograd.grad(y, y)).toThrow('pass its gradient: { gradOutputs: onesLike(y) }');
  });

  test('of tensors without a gradient say when to set requiresGrad', () => {
    const x = tensor(Float32Array.of(1, 2));
    const y = leaf(3, 4);
    expect(() => autograd.grad(x.sum(), y)).toThrow('output 0, float32[], has no gradient');
    expect(() => autograd.grad(y.sum(), x)).toThrow(
      'input 0, float32[2], has no gradient. Set x.requiresGrad = true before',
    );
    expect(() => x.registerHook(() => undefined)).toThrow('Set x.requiresGrad = true first');
    expect(() => {
      x.retainGrad();
    }).toThrow('retainGrad: expected a tensor with a gradient');
    expect(() => {
      tensor([1, 2]).requiresGrad = true;
    }).toThrow('only floats have gradients, got int64[2]');
    expect(() => {
      y.mul(2).requiresGrad = false;
    }).toThrow('Call x.detach() to block its gradient');
  });

  test('of an unused input name the options for undefined and zeros', async () => {
    const [x, unused] = [leaf(1, 2), leaf(3)];
    const y = x.square().sum();
    expect(() => autograd.grad(y, [x, unused])).toThrow('do not depend on input 1, float32[1]');
    expect(autograd.grad(y, [x, unused], { allowUnused: true })[1]).toBeUndefined();
    const [, zeros] = autograd.grad(y, [x, unused], { materializeGrads: true });
    expect(await zeros.array()).toEqual(Float32Array.of(0));
    // x.detach() blocks the gradient, and sign() has one of zeros.
    expect(() => autograd.grad(x.detach().mul(unused).sum(), x)).toThrow('do not depend on input 0');
    expect(await autograd.grad(x.sign().sum(), x)[0].array()).toEqual(Float32Array.of(0, 0));
  });

  test('of gradients of another shape', async () => {
    const y = leaf(1, 2).mul(2);
    expect(() => autograd.grad(y, y, { gradOutputs: tensor(Float32Array.of(1)) })).toThrow(
      'autograd.grad: expected a gradient of the shape of its tensor, float32[2], got float32[1]',
    );
    await expect(y.backward(tensor(Float32Array.of(1, 2, 3)))).rejects.toThrow('got float32[3]');
    y.registerHook(() => tensor(Float32Array.of(1)));
    await expect(y.sum().backward()).rejects.toThrow('registerHook: expected a gradient of the shape');
  });

  test('of a second backward pass name retainGraph', async () => {
    const y = leaf(1, 2).sum();
    await y.backward();
    await expect(y.backward()).rejects.toThrow('pass { retainGraph: true } to the first call');
  });

  test.each<[string, number | 'tensor', autograd.FunctionGradients, string]>([
    ['too few', 2, leaf(1), 'to return 2 gradients, one for each argument of forward, got 1'],
    [
      'too many',
      2,
      [leaf(1), undefined, leaf(1)],
      'to return 2 gradients, one for each argument of forward, got 3',
    ],
    ['of a number', 2, [leaf(1), leaf(1)], 'to return undefined as gradient 1'],
    ['of another shape', 'tensor', [leaf(1, 2), undefined], 'a gradient float32[3] at position 0'],
  ])('of a function that returns gradients %s', async (_, second, given, message) => {
    Wrong.given = given;
    const isTensor = second === 'tensor';
    const y = Wrong.apply(isTensor ? leaf(1, 2, 3) : leaf(1), isTensor ? tensor(Float32Array.of(3)) : second);
    await expect(y.sum().backward()).rejects.toThrow(message);
  });

  test('of a class without backward', () => {
    const Half = class Half extends autograd.Function {
      static forward(_: unknown, x: Tensor): Tensor {
        return x;
      }
    };
    // @ts-expect-error -- as in JavaScript
    expect(() => Half.apply(leaf(1))).toThrow(
      'Half to have static methods forward and backward, got no backward',
    );
  });

  test('of an operation without a second derivative name its operator', () => {
    const logits = new Parameter(
      Float32Array.from({ length: 12 }, (_, i) => i / 6),
      [4, 1, 3],
    );
    const [targets, lengths] = [tensor([1, 2]).view(1, 2), tensor([4])];
    const loss = F.ctcLoss(logits.logSoftmax(2), targets, lengths, tensor([2]));
    const [slopes] = autograd.grad(loss, logits, { createGraph: true });
    expect(() => autograd.grad(slopes.square().sum(), logits)).toThrow(
      'the operator CtcLoss has no derivative',
    );
  });

  test('of a graph that is outdated', () => {
    const w = new Parameter(Float32Array.of(1, 2), [2]);
    const y = w.square().sum();
    w.recordChange({ by: 'optimizer.step()', at: Infinity });
    expect(() => autograd.grad(y, w)).toThrow('autograd.grad: the output was computed from a parameter');
  });
});
