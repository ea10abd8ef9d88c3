import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { compileStep, F, manualSeed, nn, optim, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { dependsOnParameter } from '../../src/graph/topology.ts';
import { differentiate } from '../../src/compiler/differentiate.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

class Net extends nn.Module {
  readonly encoder = new nn.Sequential(new nn.Linear(4, 5), new nn.Tanh());
  readonly head = new nn.Linear(5, 3);

  forward(x: Tensor): Tensor {
    return this.head.forward(this.encoder.forward(x));
  }
}

const x = tensor(fill([6, 4], 1), [6, 4]);
const target = tensor(fill([6, 3], 2), [6, 3]);

function made(): { net: Net; lossOf: () => Tensor } {
  manualSeed(1);
  const net = new Net();
  return { net, lossOf: () => F.mseLoss(net.forward(x), target) };
}

const gradients = (net: Net) => [...net.parameters()].map(({ grad }) => grad);

test('a frozen half has no gradients; the other half’s equal those of the whole model', async () => {
  const { net: whole, lossOf: lossOfWhole } = made();
  await lossOfWhole().backward();
  const { net, lossOf } = made();
  expect(net.encoder.requiresGrad(false)).toBe(net.encoder);
  expect([...net.parameters()].map(({ requiresGrad }) => requiresGrad)).toEqual([false, false, true, true]);
  const loss = lossOf();
  await loss.backward();
  expect(gradients(net)).toEqual([undefined, undefined, ...gradients(whole).slice(2)]);
});

test('the backward pass visits no operator of a frozen half', () => {
  const opsOf = (loss: Tensor) => {
    const ops: string[] = [];
    differentiate(loss.value, ({ op }) => ops.push(op));
    return ops;
  };
  const { net, lossOf } = made();
  expect(opsOf(lossOf())).toContain('Tanh');
  net.encoder.requiresGrad(false);
  expect(opsOf(lossOf())).not.toContain('Tanh');
});

test.each(['separate calls', 'compileStep'])(
  'an optimizer leaves frozen parameters unchanged: %s',
  async (way) => {
    const { net, lossOf } = made();
    const optimizer = new optim.SGD(net.parameters(), { lr: 0.1, momentum: 0.9, weightDecay: 0.1 });
    const step =
      way === 'compileStep'
        ? compileStep(optimizer, lossOf)
        : async () => {
            optimizer.zeroGrad();
            await lossOf().backward();
            await optimizer.step();
          };
    await step();
    const encoder = net.encoder.stateDict();
    const head = net.head.stateDict();
    net.encoder.requiresGrad(false);
    await step();
    await step();
    expect(net.encoder.stateDict()).toEqual(encoder);
    expect(net.head.stateDict()).not.toEqual(head);
    net.encoder.requiresGrad();
    await step();
    expect(net.encoder.stateDict()).not.toEqual(encoder);
  },
);

test('a parameter frozen after its backward pass is not updated with its gradient', async () => {
  const { net, lossOf } = made();
  const optimizer = new optim.SGD(net.parameters(), { lr: 0.1 });
  await lossOf().backward();
  const before = net.head.bias!.data.slice();
  net.head.bias!.requiresGrad = false;
  await optimizer.step();
  expect(net.head.bias!.data).toEqual(before);
});

test('a graph keeps the frozen state at the time when it was recorded, as in torch', async () => {
  const { net, lossOf } = made();
  const trained = lossOf();
  net.requiresGrad(false);
  const frozen = lossOf();
  net.requiresGrad();
  expect([trained.requiresGrad, frozen.requiresGrad, trained.detach().requiresGrad]).toEqual([
    true,
    false,
    false,
  ]);
  await expect(frozen.backward()).rejects.toThrow('the loss depends on frozen Parameters only');
  net.requiresGrad(false);
  await trained.backward();
  expect(gradients(net).every((gradient) => gradient !== undefined)).toBe(true);
});

test('an unawaited backward pass computes the gradients of parameters frozen after it', async () => {
  const { net, lossOf } = made();
  const backward = lossOf().backward();
  net.requiresGrad(false);
  await backward;
  expect(gradients(net).every((gradient) => gradient !== undefined)).toBe(true);
});

test('a parameter used both frozen and trained has the gradient of the trained use', async () => {
  const weight = new Parameter(Float32Array.of(3), [1]);
  const trained = weight.mul(2);
  weight.requiresGrad = false;
  const loss = trained.mul(weight.mul(5)).sum();
  await loss.backward();
  expect(weight.grad).toEqual(Float32Array.of(2 * 5 * 3));
});

test('a change of a parameter outdates graphs in which it is frozen', async () => {
  const weight = new Parameter(Float32Array.of(3), [1]);
  class One extends nn.Module {
    readonly weight = weight;
  }
  const one = new One().requiresGrad(false);
  const doubled = weight.mul(2);
  one.loadStateDict({ weight: { shape: [1], data: Float32Array.of(4) } });
  await expect(doubled.array()).rejects.toThrow(
    /was computed from parameter weight \(float32\[1\]\) before loadStateDict changed it/,
  );
  expect(dependsOnParameter(doubled.value)).toBe(false);
});

test('prints a frozen parameter with its path', () => {
  const { net } = made();
  net.requiresGrad(false);
  expect(inspect(net.head.bias)).toMatch(/^Parameter head.bias float32\[3\] /);
});

test('rejects values other than true and false', () => {
  const { net } = made();
  expect(() => (net.head.bias!.requiresGrad = 0 as never)).toThrow('expected true or false, got 0.');
  expect(() => net.requiresGrad('no' as never)).toThrow('Net.requiresGrad: expected true or false, got no.');
});
