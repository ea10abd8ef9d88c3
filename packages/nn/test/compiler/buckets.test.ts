import { describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { F, manualSeed, nn, tensor, type Tensor } from '../../src/index.ts';
import { fill, fillClasses } from '../support/fill.ts';
import { gradientSink } from '../support/gradient-sink.ts';
import { MnistCnn } from '../support/mnist-cnn.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

/** Assigns parameters to buckets by the first part of their names. Returns the buckets that became ready, in order. */
function inBuckets(model: nn.Module, buckets: Readonly<Record<string, number>>): number[] {
  const ready: number[] = [];
  const names = new Map<unknown, string>(
    [...model.namedParameters()].map(([name, parameter]) => [parameter, name]),
  );
  const sink = gradientSink({
    bucketIndexOf: (parameter) => buckets[names.get(parameter)!.split('.')[0]],
    bucketReady: (index) => {
      ready.push(index);
    },
  });
  for (const parameter of model.parameters()) parameter.gradientSink = sink;
  return ready;
}

describe('a backward pass in buckets', () => {
  const batch = 16;
  const loss = (model: MnistCnn): Tensor => {
    const shape = [batch, 1, 28, 28];
    const output = model.forward(tensor(fill(shape, 1), shape));
    return F.nllLoss(output, tensor(fillClasses(batch, 10, 1)));
  };
  const gradients = (model: MnistCnn) =>
    [...model.namedParameters()].map(([name, { grad }]) => ({ name, grad: grad! }));

  test.each([
    ['two', { conv1: 1, conv2: 1, fc1: 0, fc2: 0 }],
    ['four, in the order of the forward pass', { conv1: 0, conv2: 1, fc1: 2, fc2: 3 }],
    ['four, backwards', { conv1: 3, conv2: 2, fc1: 1, fc2: 0 }],
  ])('computes the gradients of an undivided pass: %s', async (_, buckets) => {
    manualSeed(1);
    const whole = new MnistCnn();
    manualSeed(1);
    const model = new MnistCnn();
    const ready = inBuckets(model, buckets);
    const [expected, actual] = [loss(whole), loss(model)];
    await expected.backward();
    await actual.backward();
    expect(await actual.item()).toBeCloseTo(await expected.item(), 6);
    for (const [position, { name, grad }] of gradients(whole).entries()) {
      expectClose(name, gradients(model)[position].grad, grad, 1e-5);
    }
    expect(ready).toEqual([...new Set(Object.values(buckets))].sort());
  });

  test('compiles once, and passes take turns', async () => {
    const model = new nn.Linear(5, 3);
    inBuckets(model, { weight: 1, bias: 0 });
    const error = (seed: number) => {
      const output = model.forward(tensor(fill([4, 5], seed), [4, 5]));
      return output.mul(output).mean();
    };
    await error(1).backward();
    const spy = vi.spyOn(onnxruntimeExecutor, 'compile');
    model.zeroGrad();
    await error(2).backward();
    await error(3).backward();
    const expected = [...model.weight.grad!];
    model.zeroGrad();
    await Promise.all([error(2).backward(), error(3).backward()]);
    expect([...model.weight.grad!]).toEqual(expected);
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  });
});
