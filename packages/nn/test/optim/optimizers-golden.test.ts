import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { F, optim, Parameter, tensor, type StoredTensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/optimizers.py`.

interface OptimizerCase {
  readonly optimizer:
    'SGD' | 'Adam' | 'AdamW' | 'RMSprop' | 'Adadelta' | 'Adagrad' | 'NAdam' | 'RAdam' | 'Lion';
  readonly settings: Readonly<Record<string, unknown>>;
  readonly parameters: readonly (readonly number[])[];
  readonly states: readonly Readonly<Record<string, number | readonly number[]>>[];
}

const fixture = new URL('../../../../test/golden/optimizers.json', import.meta.url);
const golden = JSON.parse(readFileSync(fixture, 'utf8')) as { readonly optimizers: readonly OptimizerCase[] };

/** Of twelve steps in float32, relative to the largest element. */
const tolerance = 1e-5;
const steps = 12;

interface Settings extends optim.CommonSettings {
  weightDecay: number;
}
type AnyOptimizer = new (
  parameters: optim.OptimizerParameters<Settings>,
  options: object,
) => optim.Optimizer<Settings>;

/**
 * `optimizer_case` of optimizers.py. With `resumeAt` a second optimizer takes over before that step, from the first one's state
 * dict.
 */
async function train({ optimizer: name, settings }: OptimizerCase, resumeAt?: number) {
  const weight = new Parameter(fill([3, 4], 1), [3, 4]);
  const bias = new Parameter(fill([3], 2), [3]);
  const scale = new Parameter(
    fill([3], 3).map((element) => element + 1.5),
    [3],
  );
  const groups = () => [{ params: [weight, scale] }, { params: [bias], lr: 0.03, weightDecay: 0.05 }];
  const Kind = optim[name] as unknown as AnyOptimizer;
  let optimizer = new Kind(groups(), settings);
  for (let step = 0; step < steps; step += 1) {
    if (step === 6) optimizer.paramGroups[0].lr /= 2;
    if (step === resumeAt) {
      const saved = structuredClone(optimizer.stateDict());
      optimizer.release();
      optimizer = new Kind(groups(), { lr: 7 });
      optimizer.loadStateDict(saved);
    }
    const target = tensor(fill([6, 3], 30 + step), [6, 3]);
    const output = F.linear(tensor(fill([6, 4], 10 + step), [6, 4]), weight, bias);
    const error = (step % 3 === 1 ? output : output.mul(scale)).sub(target);
    optimizer.zeroGrad();
    await error.mul(error).mean().backward();
    await optimizer.step();
  }
  return { parameters: [weight, scale, bias], optimizer };
}

test.each(golden.optimizers)('$optimizer $settings', async (golden) => {
  const { parameters, optimizer } = await train(golden);
  const { state } = optimizer.stateDict();
  for (const [position, { data }] of parameters.entries()) {
    expectClose(`parameter ${position}`, data, golden.parameters[position], tolerance);
    const { step, ...tensors } = state[position];
    const { step: expectedStep = position === 1 ? 8 : 12, ...expected } = golden.states[position];
    expect(step).toBe(expectedStep);
    expect(Object.keys(tensors).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, stored] of Object.entries(tensors)) {
      const { data: elements } = stored as StoredTensor;
      expectClose(`${name} of parameter ${position}`, elements, expected[name] as number[], tolerance);
    }
  }
});

test.each(golden.optimizers)('$optimizer $settings, resumed', async (golden) => {
  const [whole, resumed] = [await train(golden), await train(golden, 5)];
  for (const [position, { data }] of resumed.parameters.entries()) {
    expect([...data]).toEqual([...whole.parameters[position].data]);
  }
  expect(resumed.optimizer.stateDict()).toEqual(whole.optimizer.stateDict());
});
