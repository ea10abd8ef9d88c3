import { describe, expect, test } from 'vitest';
import { F, manualSeed, nn, optim, Parameter, tensor } from '../../src/index.ts';
import { fill, fillClasses } from '../support/fill.ts';
import { MnistCnn } from '../support/mnist-cnn.ts';
import { bits, dataOf, golden } from '../support/golden-operators.ts';
import { expectClose } from '../support/numeric.ts';
import { expectSummary, tolerance } from '../support/summary.ts';
import '../support/one-thread.ts';

describe('the MNIST CNN under SGD with momentum', () => {
  test.each(golden.mnist)('$batch images a step', async ({ batch, initial, losses, ...expected }) => {
    manualSeed(1);
    const model = new MnistCnn();
    expect(bits(dataOf([model]))).toBe(initial);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.5 });
    for (const [step, expectedLoss] of losses.entries()) {
      const shape = [batch, 1, 28, 28];
      const output = model.forward(tensor(fill(shape, step), shape));
      const loss = F.nllLoss(output, tensor(fillClasses(batch, 10, step)));
      optimizer.zeroGrad();
      await loss.backward();
      await optimizer.step();
      expectClose(`loss of step ${step}`, [await loss.item()], [expectedLoss], tolerance);
      const gradients = new Map([
        [0, expected.gradients[0]],
        [losses.length - 1, expected.gradients[1]],
      ]).get(step);
      for (const [name, parameter] of model.namedParameters()) {
        if (gradients) expectSummary(`step ${step}: gradient of ${name}`, parameter.grad!, gradients[name]);
      }
    }
    for (const [name, { data }] of model.namedParameters()) {
      expectSummary(name, data, expected.parameters[name]);
    }
  });
});

test('a network of normalized convolutions, laid out with the batch innermost, under SGD', async () => {
  manualSeed(2);
  const model = new nn.Sequential(
    new nn.Conv2d(1, 4, 3),
    new nn.BatchNorm2d(4),
    new nn.ReLU(),
    new nn.MaxPool2d(2),
    new nn.Conv2d(4, 8, 3, { padding: 'same', bias: false }),
    new nn.BatchNorm2d(8),
    new nn.SiLU(),
    new nn.AdaptiveAvgPool2d(2),
    new nn.Flatten(),
    new nn.LayerNorm(32),
    new nn.Linear(32, 10),
  );
  const { initial, losses, parameters, buffers, evaluation } = golden.network;
  expect(bits(dataOf([model]))).toBe(initial);
  const images = (seed: number) => tensor(fill([16, 1, 12, 12], seed), [16, 1, 12, 12]);
  const criterion = new nn.CrossEntropyLoss({ labelSmoothing: 0.1 });
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9 });
  for (const [step, expectedLoss] of losses.entries()) {
    const loss = criterion.forward(model.forward(images(step)), tensor(fillClasses(16, 10, step)));
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
    expectClose(`loss of step ${step}`, [await loss.item()], [expectedLoss], tolerance);
  }
  const state = new Map(model.namedParameters());
  expect([...state.keys()]).toEqual(Object.keys(parameters));
  // The bias of a convolution before a normalization has a gradient of 0, of which rounding makes something.
  for (const [name, { data }] of state) if (name !== '0.bias') expectSummary(name, data, parameters[name]);
  for (const [place, [name, { data }]] of [...model.namedBuffers()].entries()) {
    expectSummary(name, data, buffers[place]);
  }
  expectSummary('evaluation', (await model.eval().forward(images(77)).array()) as Float32Array, evaluation);
});

describe('SGD', () => {
  const options: Readonly<Record<string, optim.SGDOptions>> = {
    plain: { lr: 0.1 },
    momentum: { lr: 0.1, momentum: 0.9 },
    nesterov: { lr: 0.1, momentum: 0.9, nesterov: true },
    'weight decay': { lr: 0.1, weightDecay: 0.2 },
    all: { lr: 0.1, momentum: 0.9, weightDecay: 0.2, nesterov: true },
  };
  test.each(Object.entries(golden.sgd))('%s', async (name, expected) => {
    const weight = new Parameter(fill([3, 4], 1), [3, 4]);
    const bias = new Parameter(fill([3], 2), [3]);
    const optimizer = new optim.SGD([weight, bias], options[name]);
    for (let step = 0; step < 5; step += 1) {
      if (step === 3) optimizer.paramGroups[0].lr = 0.05;
      const target = tensor(fill([6, 3], 20 + step), [6, 3]);
      const error = F.linear(tensor(fill([6, 4], 10 + step), [6, 4]), weight, bias).sub(target);
      optimizer.zeroGrad();
      await error.mul(error).mean().backward();
      await optimizer.step();
    }
    expectSummary('weight', weight.data, expected[0]);
    expectSummary('bias', bias.data, expected[1]);
  });
});
