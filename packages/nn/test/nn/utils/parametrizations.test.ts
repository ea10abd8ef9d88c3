import { describe, expect, test } from 'vitest';
import { compileStep, manualSeed, nn, optim, randn, tensor, type Tensor } from '../../../src/index.ts';
import { fill } from '../../support/fill.ts';
import { goldenFile } from '../../support/golden-cases.ts';
import { expectSummary, type Summary } from '../../support/summary.ts';
import '../../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/parametrizations.py`.

interface Case {
  readonly name: string;
  readonly input: readonly number[];
  readonly initial: Readonly<Record<string, Summary & { readonly shape: readonly number[] }>>;
  readonly losses: readonly number[];
  readonly gradients: Readonly<Record<string, Summary>>;
  readonly state: Readonly<Record<string, Summary>>;
  readonly output: Summary;
}

type Layer = nn.Module & { forward(input: Tensor): Tensor };

const { spectralNorm, weightNorm } = nn.utils.parametrizations;
const cases = goldenFile('parametrizations') as readonly Case[];
const makers: Readonly<Record<string, () => Layer>> = {
  'spectralNorm of Linear': () => spectralNorm(new nn.Linear(5, 4)),
  'spectralNorm of Conv2d': () => spectralNorm(new nn.Conv2d(3, 4, 3), { nPowerIterations: 2 }),
  'spectralNorm of ConvTranspose2d': () => spectralNorm(new nn.ConvTranspose2d(3, 4, 3)),
  'spectralNorm of a bias': () => spectralNorm(new nn.Linear(5, 4), 'bias'),
  'weightNorm of Linear': () => weightNorm(new nn.Linear(5, 4)),
  'weightNorm of Conv2d': () => weightNorm(new nn.Conv2d(3, 4, 3), { dim: 1 }),
  'weightNorm of a whole weight': () => weightNorm(new nn.Linear(5, 4), 'weight', { dim: null }),
  both: () => weightNorm(spectralNorm(new nn.Linear(5, 4)), 'bias', null),
};

const filled = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);
const lossOf = (layer: Layer) => (input: Tensor) => {
  const output = layer.forward(input);
  return output.mul(filled(output.shape, 50)).sum();
};

function expectState(layer: Layer, expected: Readonly<Record<string, Summary>>): void {
  const state = layer.stateDict();
  expect([...state.keys()].sort()).toEqual(Object.keys(expected).sort());
  for (const [key, { data }] of state) expectSummary(key, data, expected[key]);
}

describe.each(cases)('$name', ({ name, input, initial, losses, gradients, state, output }) => {
  test.each(['backward and step', 'a compiled step'])('trains as torch by %s', async (way) => {
    manualSeed(1);
    const layer = makers[name]();
    expectState(layer, initial);
    for (const [key, { shape }] of layer.stateDict()) expect(shape).toEqual(initial[key].shape);
    const optimizer = new optim.SGD(layer.parameters(), { lr: 0.1 });
    const step = compileStep(optimizer, lossOf(layer));
    for (const [seed, expected] of losses.entries()) {
      if (way === 'a compiled step') {
        expect(await (await step(filled(input, seed))).item()).toBeCloseTo(expected, 4);
        continue;
      }
      optimizer.zeroGrad();
      const loss = lossOf(layer)(filled(input, seed));
      await loss.backward();
      expect(await loss.item()).toBeCloseTo(expected, 4);
      await optimizer.step();
    }
    for (const [key, { grad }] of layer.namedParameters()) expectSummary(key, grad!, gradients[key]);
    expectState(layer, state);
    layer.eval();
    expectSummary('output', (await layer.forward(filled(input, 9)).array()) as Float32Array, output);
    expectState(layer, state);
  });

  test('loads its state dict, and computes the same', async () => {
    manualSeed(2);
    const [layer, other] = [makers[name](), makers[name]()];
    other.loadStateDict(layer.stateDict());
    const x = filled(input, 3);
    expect(await other.eval().forward(x).array()).toEqual(await layer.eval().forward(x).array());
  });
});

test('every maker has a case', () => {
  expect(cases.map(({ name }) => name)).toEqual(Object.keys(makers));
});

test('spectralNorm bounds the largest singular value of a layer inside a model', async () => {
  manualSeed(3);
  const layer = spectralNorm(new nn.Linear(6, 6));
  const model = new nn.Sequential(layer, new nn.ReLU());
  expect([...model.namedParameters()].map(([name]) => name)).toEqual([
    '0.bias',
    '0.parametrizations.weight.original',
  ]);
  expect([...model.namedBuffers()].map(([name]) => name)).toEqual([
    '0.parametrizations.weight.0._u',
    '0.parametrizations.weight.0._v',
  ]);
  for (let i = 0; i < 30; i += 1) await model.forward(randn(2, 6)).array();
  model.eval();
  const weight: Tensor = layer.weight;
  let vector: Tensor = randn(6);
  for (let i = 0; i < 50; i += 1) {
    vector = weight.t().mv(weight.mv(vector));
    vector = tensor(await vector.div(vector.norm()).array());
  }
  expect(await weight.mv(vector).norm().item()).toBeCloseTo(1, 3);
});

test('errors name the parameter and the dimension', () => {
  const layer = new nn.Linear(5, 4);
  expect(() => weightNorm(layer, 'weights')).toThrow(
    "weightNorm: expected the name of a parameter of Linear, got 'weights'. Its parameters: weight, bias.",
  );
  expect(() => spectralNorm(layer, { dim: 2 })).toThrow(
    'spectralNorm: expected a dimension of float32[4,5], got 2.',
  );
  expect(() => weightNorm(layer, { dim: -3 })).toThrow(
    'weightNorm: expected a dimension of float32[4,5], got -3.',
  );
  expect(() => spectralNorm(layer, { nPowerIterations: 0 })).toThrow(
    'nPowerIterations must be a positive integer, got 0.',
  );
  spectralNorm(layer);
  expect(() => spectralNorm(layer)).toThrow("got 'weight'. Its parameters: bias.");
  expect(() => Object.assign(layer, { weight: 1 })).toThrow('Linear: expected no assignment to weight');
});
