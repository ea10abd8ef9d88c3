import { describe, expect, test } from 'vitest';
import { ArgumentError, optim, Parameter, tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

// optimizers-golden.test.ts checks for every optimizer that training resumes as if uninterrupted.

type Dict = optim.OptimizerStateDict<optim.AdamSettings>;

async function trained() {
  const [x, y, z] = [
    new Parameter(Float32Array.of(1, 2), [2]),
    new Parameter(Float32Array.of(3), []),
    unused(),
  ];
  const optimizer = new optim.Adam([{ params: [x] }, { params: [y, z], lr: 0.5 }], { lr: 0.1 });
  await x
    .mul(tensor(Float32Array.of(1, -2)))
    .sum()
    .add(y)
    .backward();
  await optimizer.step();
  return { optimizer, x };
}
const unused = () => new Parameter(Float32Array.of(1, 2, 3, 4), [2, 2]);

test('contains settings, parameter indices and the states of updated parameters', async () => {
  const { optimizer } = await trained();
  const settings = { betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0, amsgrad: false };
  const { state, paramGroups } = optimizer.stateDict();
  expect(paramGroups).toEqual([
    { ...settings, lr: 0.1, params: [0] },
    { ...settings, lr: 0.5, params: [1, 2] },
  ]);
  expect(state).toEqual({
    0: {
      step: 1,
      expAvg: { shape: [2], data: Float32Array.of(0.1, -0.2) },
      expAvgSq: { shape: [2], data: Float32Array.of(0.001, 0.004) },
    },
    1: {
      step: 1,
      expAvg: { shape: [], data: Float32Array.of(0.1) },
      expAvgSq: { shape: [], data: Float32Array.of(0.001) },
    },
  });
});

test('is a copy, and is copied when loaded', async () => {
  const { optimizer } = await trained();
  const saved = optimizer.stateDict();
  const kept = structuredClone(saved);
  await optimizer.step();
  expect(saved).toEqual(kept);
  optimizer.loadStateDict(saved);
  saved.paramGroups[0].lr = 9;
  (saved.state[0].expAvg as { data: Float32Array }).data.fill(9);
  expect(optimizer.stateDict()).toEqual(kept);
});

test('loading the state dict of a fresh optimizer resets all states', async () => {
  const { optimizer, x } = await trained();
  const fresh = new optim.Adam([{ params: [unused()] }, { params: [unused(), unused()] }], { lr: 0.1 });
  optimizer.loadStateDict(fresh.stateDict());
  expect(optimizer.stateDict().state).toEqual({});
  const before = x.data[0];
  await optimizer.step();
  expect(x.data[0]).toBeCloseTo(before - 0.1, 6);
});

describe('rejects by name and changes nothing:', () => {
  const tensorOf = (dict: Dict, name: string) =>
    dict.state[0][name] as { shape: number[]; data: Float32Array };
  test.each<[string, (dict: Dict) => unknown]>([
    ['expected groups of [1,2] parameters, got [1]', (dict) => dict.paramGroups.pop()],
    ['expected groups of [1,2] parameters, got [1,1]', (dict) => dict.paramGroups[1].params.pop()],
    ['group 1 lacks eps', (dict) => delete (dict.paramGroups[1] as Partial<optim.AdamSettings>).eps],
    [
      'group 0 has momentum, which this optimizer does not use',
      (dict) => Object.assign(dict.paramGroups[0], { momentum: 0 }),
    ],
    ['group 0: Adam: lr must be at least 0, got -1', (dict) => (dict.paramGroups[0].lr = -1)],
    [
      'the state of parameter 0 lacks expAvgSq',
      (dict) => delete (dict.state[0] as Partial<Dict['state'][0]>).expAvgSq,
    ],
    ['the state of parameter 0 lacks maxExpAvgSq', (dict) => (dict.paramGroups[0].amsgrad = true)],
    ['the state of parameter 0 has buffer, which', (dict) => (dict.state[0].buffer = dict.state[0].expAvg)],
    [
      'the state of parameter 0 expAvg must have shape [2], got [2,1]',
      (dict) => (tensorOf(dict, 'expAvg').shape = [2, 1]),
    ],
    [
      'expAvg must have 2 elements for shape [2], got 1',
      (dict) => (tensorOf(dict, 'expAvg').data = new Float32Array(1)),
    ],
    ['expAvg must be { shape, data: Float32Array }, got 3', (dict) => (dict.state[0].expAvg = 3)],
    ['the state of parameter 0 has an invalid step, 1.5', (dict) => (dict.state[0].step = 1.5)],
    ['it has states of parameters 7, which are not in any group', (dict) => (dict.state[7] = dict.state[0])],
    [
      'lacks eps; group 1 lacks lr',
      (dict) => {
        delete (dict.paramGroups[0] as Partial<optim.AdamSettings>).eps;
        delete (dict.paramGroups[1] as Partial<optim.AdamSettings>).lr;
      },
    ],
    ['expected a state dict { state, paramGroups', (dict) => delete (dict as Partial<Dict>).state],
  ])('%s', async (message, spoil) => {
    const { optimizer } = await trained();
    const before = optimizer.stateDict();
    const dict = optimizer.stateDict();
    for (const group of dict.paramGroups) group.weightDecay = 0.5;
    spoil(dict);
    const load = () => {
      optimizer.loadStateDict(dict);
    };
    expect(load).toThrow(ArgumentError);
    expect(load).toThrow(message);
    expect(optimizer.stateDict()).toEqual(before);
  });
});
