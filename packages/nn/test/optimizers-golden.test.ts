import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { F, optim, Parameter, tensor } from '../src/index.ts';
import { fill } from './fill.ts';
import { expectClose } from './numeric.ts';
import './one-thread.ts';

// PyTorch's numbers, as `test/golden/optimizers.py` wrote them.

interface OptimizerCase {
  readonly optimizer: 'SGD' | 'Adam' | 'AdamW' | 'RMSprop' | 'Adadelta';
  readonly settings: Readonly<Record<string, unknown>>;
  readonly parameters: readonly (readonly number[])[];
  readonly states: readonly Readonly<Record<string, number | readonly number[]>>[];
}

const fixture = new URL('../../../test/golden/optimizers.json', import.meta.url);
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

test.each(golden.optimizers)('$optimizer $settings', async ({ optimizer: name, settings, ...expected }) => {
  const weight = new Parameter(fill([3, 4], 1), [3, 4]);
  const bias = new Parameter(fill([3], 2), [3]);
  const scale = new Parameter(
    fill([3], 3).map((element) => element + 1.5),
    [3],
  );
  const groups = [{ params: [weight, scale] }, { params: [bias], lr: 0.03, weightDecay: 0.05 }];
  const optimizer = new (optim[name] as unknown as AnyOptimizer)(groups, settings);
  for (let step = 0; step < steps; step += 1) {
    if (step === 6) optimizer.paramGroups[0].lr /= 2;
    const target = tensor(fill([6, 3], 30 + step), [6, 3]);
    const output = F.linear(tensor(fill([6, 4], 10 + step), [6, 4]), weight, bias);
    const error = (step % 3 === 1 ? output : output.mul(scale)).sub(target);
    optimizer.zeroGrad();
    await error.mul(error).mean().backward();
    await optimizer.step();
  }

  for (const [position, parameter] of [weight, scale, bias].entries()) {
    expectClose(`parameter ${position}`, parameter.data, expected.parameters[position], tolerance);
  }
});
