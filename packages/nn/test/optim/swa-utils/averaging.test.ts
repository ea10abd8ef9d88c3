import { expect, test } from 'vitest';
import { F, manualSeed, nn, optim, tensor, type Tensor } from '../../../src/index.ts';
import { fill } from '../../support/fill.ts';
import { goldenFile } from '../../support/golden-cases.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

const { AveragedModel, getEmaAvgFn, getSwaAvgFn, updateBn } = optim.swaUtils;

// PyTorch's numbers, as written by `test/golden/averaging.py`.
type State = Readonly<Record<string, readonly number[]>>;
interface AveragingCase {
  readonly name: 'mean' | 'ema';
  readonly useBuffers: boolean;
  readonly averaged: State;
  readonly updated: State;
}
const golden = goldenFile('averaging') as readonly AveragingCase[];
const averages = { mean: getSwaAvgFn(), ema: getEmaAvgFn(0.8) };

class Net extends nn.Module {
  readonly first = new nn.Linear(4, 3);
  readonly bn = new nn.BatchNorm1d(3);
  readonly last = new nn.Linear(3, 2);

  forward(x: Tensor): Tensor {
    return this.last.forward(this.bn.forward(this.first.forward(x)).tanh());
  }
}

const filled = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);

function expectState(actual: ReadonlyMap<string, { data: Float32Array }>, expected: State): void {
  expect([...actual.keys()].sort()).toEqual(Object.keys(expected).sort());
  for (const [key, { data }] of actual) expectClose(key, data, expected[key], 1e-5);
}

async function trained({ name, useBuffers }: AveragingCase) {
  manualSeed(2);
  const net = new Net();
  const averaged = new AveragedModel(new Net(), { avgFn: averages[name], useBuffers });
  const optimizer = new optim.SGD(net.parameters(), { lr: 0.3 });
  for (let step = 0; step < 5; step += 1) {
    optimizer.zeroGrad();
    await F.mseLoss(net.forward(filled([6, 4], step)), filled([6, 2], 20 + step)).backward();
    await optimizer.step();
    averaged.updateParameters(net);
  }
  return { net, averaged };
}

test.each(golden)(
  '$name, buffers: $useBuffers: averages and statistics equal those of torch',
  async (expected) => {
    const { net, averaged } = await trained(expected);
    const before = net.stateDict();
    expect(averaged.numAveraged).toBe(5);
    expectState(averaged.stateDict(), expected.averaged);
    const batches = [40, 41, 42].map((seed) => filled([6, 4], seed));
    await updateBn(batches, averaged, (batch) => averaged.forward(batch));
    expectState(averaged.stateDict(), expected.updated);
    expect(net.stateDict()).toEqual(before);
    expect([averaged.module.bn.momentum, averaged.module.training]).toEqual([0.1, false]);
    const other = new AveragedModel(new Net());
    other.loadStateDict(averaged.stateDict());
    expect(other.stateDict()).toEqual(averaged.stateDict());
  },
);

test('rejects a model of another class and states without a count, and changes nothing', () => {
  const averaged = new AveragedModel(new Net());
  const before = averaged.stateDict();
  expect(() => {
    averaged.updateParameters(new nn.Linear(4, 3));
  }).toThrow('expected a model with first.weight [3,4], got weight [3,4].');
  expect(() => {
    averaged.loadStateDict({});
  }).toThrow('expected the key n_averaged');
  expect(averaged.stateDict()).toEqual(before);
  expect(() => getEmaAvgFn(2)).toThrow('decay must lie between 0 and 1, got 2.');
  expect(() => new AveragedModel([] as never)).toThrow('expected a Module for the averages.');
});

test('averages in a copy of the model, which stays as it is', async () => {
  const net = new Net();
  const averaged = new AveragedModel(net, { avgFn: getEmaAvgFn(0.5) });
  expect(averaged.module).toBeInstanceOf(Net);
  expect([net.training, averaged.module.training]).toEqual([true, false]);
  expect(net.parameters().every(({ requiresGrad }) => requiresGrad)).toBe(true);
  averaged.updateParameters(net);
  const [first] = net.first.bias!.data;
  await net
    .forward(filled([6, 4], 1))
    .sum()
    .backward();
  await new optim.SGD(net.parameters(), { lr: 0.1 }).step();
  averaged.updateParameters(net);
  expect(net.first.bias!.data[0]).not.toBe(first);
  expect(averaged.module.first.bias!.data[0]).toBeCloseTo((first + net.first.bias!.data[0]) / 2, 6);
});

test('averages in the module itself without a copy, for classes that cannot be copied', () => {
  class Private extends nn.Module {
    readonly layer = new nn.Linear(2, 1);
    readonly #scale = 2;
    forward(x: Tensor): Tensor {
      return this.layer.forward(x).mul(this.#scale);
    }
  }
  expect(() => new AveragedModel(new Private())).toThrow('it has a private field (#scale)');
  const storage = new Private();
  const averaged = new AveragedModel(storage, { copy: false });
  expect(averaged.module).toBe(storage);
  expect(storage.layer.weight.requiresGrad).toBe(false);
  averaged.updateParameters(new Private());
});
