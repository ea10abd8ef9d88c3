import type { ParameterSharing } from 'ringrun';
import { expect, test } from 'vitest';
import { F, optim, Parameter, tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { goldenFile } from '../support/golden-cases.ts';
import { gradientSink } from '../support/gradient-sink.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/lbfgs.py`.
interface LBFGSCase {
  readonly settings: Readonly<Record<string, number | string>>;
  readonly losses: readonly number[];
  readonly calls: number;
  readonly last: number;
  readonly parameters: readonly (readonly number[])[];
}
const golden = goldenFile('lbfgs') as readonly LBFGSCase[];

/** Gradients are float32, whereas torch's are double here. */
const tolerance = 1e-3;

const halved = (shape: readonly number[], seed: number) =>
  new Parameter(
    fill(shape, seed).map((element) => element / 2),
    shape,
  );

function problem(options: optim.LBFGSOptions) {
  const parameters = [halved([5, 4], 1), halved([5], 2), halved([1, 5], 3)];
  const [w, b, v] = parameters;
  const [x, y] = [tensor(fill([12, 4], 4), [12, 4]), tensor(fill([12, 1], 5), [12, 1])];
  const calls: number[] = [];
  const closureOf = (optimizer: optim.LBFGS) => async () => {
    optimizer.zeroGrad();
    const loss = F.mseLoss(F.linear(F.linear(x, w, b).tanh(), v), y);
    await loss.backward();
    calls.push(await loss.item());
    return loss;
  };
  return { parameters, calls, closureOf, optimizer: new optim.LBFGS(parameters, options) };
}

function optionsOf({ settings }: LBFGSCase): optim.LBFGSOptions {
  const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      camel(name),
      value === 'strong_wolfe' ? 'strongWolfe' : value,
    ]),
  );
}

test.each(golden)('$settings ends with torch’s losses and parameters', async (expected) => {
  const { parameters, calls, closureOf, optimizer } = problem(optionsOf(expected));
  const losses: number[] = [];
  for (let step = 0; step < 3; step += 1) losses.push(await optimizer.step(closureOf(optimizer)));
  expectClose('losses', losses, expected.losses, tolerance);
  expect(calls).toHaveLength(expected.calls);
  expectClose('last loss', [calls.at(-1)!], [expected.last], tolerance);
  for (const [position, { data }] of parameters.entries()) {
    expectClose(`parameter ${position}`, data, expected.parameters[position], 5 * tolerance);
  }
  expect(losses.at(-1)!).toBeLessThan(losses[0]);
});

test.each([{ maxIter: 3 }, { maxIter: 3, lineSearchFn: 'strongWolfe' as const }])(
  'resumes bit-identically: %o',
  async (options) => {
    const whole = problem(options);
    for (let step = 0; step < 3; step += 1) await whole.optimizer.step(whole.closureOf(whole.optimizer));
    const { parameters, closureOf, optimizer } = problem(options);
    await optimizer.step(closureOf(optimizer));
    const saved = optimizer.stateDict();
    optimizer.release();
    const next = new optim.LBFGS(parameters, { ...options, lr: 7 });
    next.loadStateDict(saved);
    for (let step = 1; step < 3; step += 1) await next.step(closureOf(next));
    for (const [position, { data }] of parameters.entries()) {
      expect(data).toEqual(whole.parameters[position].data);
    }
    expect(next.stateDict()).toEqual(whole.optimizer.stateDict());
  },
);

test('rejects parameters that the ranks of a host share, and changes nothing', async () => {
  const parameter = new Parameter(Float32Array.of(1), [1]);
  parameter.gradientSink = { ...gradientSink(), sharing: {} as ParameterSharing };
  const optimizer = new optim.LBFGS([parameter]);
  const step = optimizer.step(() => Promise.reject(new Error('expected no call')));
  await expect(step).rejects.toThrow('Create DistributedDataParallel without shareParameters');
  expect(parameter.data).toEqual(Float32Array.of(1));
});

test('rejects invalid closures, settings and states', async () => {
  const { parameters, closureOf, optimizer } = problem({});
  const before = parameters.map(({ data }) => data.slice());
  await expect(optimizer.step(undefined as never)).rejects.toThrow(
    'expected a closure that computes the loss',
  );
  await expect(optimizer.step(() => Promise.resolve(undefined as never))).rejects.toThrow(
    'Return the tensor or its number.',
  );
  expect(parameters.map(({ data }) => data)).toEqual(before);
  expect(() => new optim.LBFGS(parameters)).toThrow('belongs to another optimizer (LBFGS)');
  expect(() => new optim.LBFGS([], {})).toThrow('expected at least one parameter');
  optimizer.release();
  expect(() => new optim.LBFGS(parameters, { lineSearchFn: 'strong_wolfe' as never })).toThrow(
    "'strongWolfe' or null",
  );
  await optimizer.step(closureOf(optimizer));
  const other = new optim.LBFGS([halved([2], 1)]);
  expect(() => {
    other.loadStateDict(optimizer.stateDict());
  }).toThrow('expected a state of 2 elements, got 30.');
});
