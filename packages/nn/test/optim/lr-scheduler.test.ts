import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ArgumentError, optim, Parameter } from '../../src/index.ts';
import { expectClose } from '../support/numeric.ts';

const { lrScheduler } = optim;

// PyTorch's schedules, as written by `test/golden/optimizers.py`.

interface Golden {
  /** Rates and momenta of all groups before the first step and after each. */
  readonly schedules: Readonly<
    Record<
      string,
      { readonly rates: readonly (readonly number[])[]; readonly momenta: readonly (readonly number[])[] }
    >
  >;
}

const fixture = new URL('../../../../test/golden/optimizers.json', import.meta.url);
const golden = JSON.parse(readFileSync(fixture, 'utf8')) as Golden;

/** Both sides compute in double; the recursive forms add up roundings. */
const tolerance = 1e-12;

const one = () => new Parameter(new Float32Array(1), [1]);
const sgd = () => new optim.SGD([{ params: one() }, { params: one(), lr: 0.02 }], { lr: 0.5, momentum: 0.9 });
const adam = () => new optim.Adam([one()], { lr: 0.5 });

type Scheduler = optim.lrScheduler.LRScheduler | optim.lrScheduler.SequentialLR;

/** The schedulers of optimizers.py, under the same names. */
const schedulers: Readonly<
  Record<
    string,
    readonly [optimizer: () => optim.Optimizer, create: (optimizer: optim.Optimizer) => Scheduler]
  >
> = {
  LambdaLR: [sgd, (o) => new lrScheduler.LambdaLR(o, (epoch) => 0.95 ** epoch)],
  'LambdaLR, one for each group': [
    sgd,
    (o) => new lrScheduler.LambdaLR(o, [(epoch) => 1 / (epoch + 1), (epoch) => Math.floor(epoch / 3)]),
  ],
  StepLR: [sgd, (o) => new lrScheduler.StepLR(o, 3)],
  'StepLR with gamma': [sgd, (o) => new lrScheduler.StepLR(o, 4, { gamma: 0.7 })],
  MultiStepLR: [sgd, (o) => new lrScheduler.MultiStepLR(o, [2, 5, 5, 9], { gamma: 0.5 })],
  ExponentialLR: [sgd, (o) => new lrScheduler.ExponentialLR(o, 0.9)],
  LinearLR: [sgd, (o) => new lrScheduler.LinearLR(o)],
  'LinearLR with options': [
    sgd,
    (o) => new lrScheduler.LinearLR(o, { startFactor: 0.8, endFactor: 0.2, totalIters: 6 }),
  ],
  CosineAnnealingLR: [sgd, (o) => new lrScheduler.CosineAnnealingLR(o, 5)],
  'CosineAnnealingLR with etaMin': [sgd, (o) => new lrScheduler.CosineAnnealingLR(o, 7, { etaMin: 0.01 })],
  OneCycleLR: [sgd, (o) => new lrScheduler.OneCycleLR(o, 0.4, { totalSteps: 20 })],
  'OneCycleLR, linear, three phases': [
    sgd,
    (o) =>
      new lrScheduler.OneCycleLR(o, [0.4, 0.1], {
        epochs: 5,
        stepsPerEpoch: 4,
        pctStart: 0.4,
        annealStrategy: 'linear',
        threePhase: true,
        baseMomentum: 0.7,
        maxMomentum: 0.8,
        divFactor: 10,
        finalDivFactor: 100,
      }),
  ],
  'OneCycleLR of Adam': [adam, (o) => new lrScheduler.OneCycleLR(o, 0.4, { totalSteps: 11, pctStart: 0.5 })],
  'OneCycleLR without momentum': [
    adam,
    (o) => new lrScheduler.OneCycleLR(o, 0.4, { totalSteps: 11, cycleMomentum: false }),
  ],
  CosineAnnealingWarmRestarts: [sgd, (o) => new lrScheduler.CosineAnnealingWarmRestarts(o, 4)],
  'CosineAnnealingWarmRestarts with options': [
    sgd,
    (o) => new lrScheduler.CosineAnnealingWarmRestarts(o, 3, { tMult: 2, etaMin: 0.01 }),
  ],
  SWALR: [sgd, (o) => new optim.swaUtils.SWALR(o, 0.05)],
  'SWALR, linear': [
    sgd,
    (o) => new optim.swaUtils.SWALR(o, [0.05, 0.3], { annealEpochs: 4, annealStrategy: 'linear' }),
  ],
  'SWALR at once': [sgd, (o) => new optim.swaUtils.SWALR(o, 0.05, { annealEpochs: 0 })],
  SequentialLR: [
    sgd,
    (o) =>
      new lrScheduler.SequentialLR(
        o,
        [
          new lrScheduler.LinearLR(o, { startFactor: 0.1, totalIters: 4 }),
          new lrScheduler.CosineAnnealingLR(o, 8, { etaMin: 0.001 }),
        ],
        [4],
      ),
  ],
  'SequentialLR of three': [
    sgd,
    (o) =>
      new lrScheduler.SequentialLR(
        o,
        [
          new lrScheduler.ExponentialLR(o, 0.5),
          new lrScheduler.StepLR(o, 2, { gamma: 0.3 }),
          new lrScheduler.LambdaLR(o, (epoch) => 1 / (1 + epoch)),
        ],
        [3, 8],
      ),
  ],
};

const momentaOf = ({ paramGroups }: optim.Optimizer) =>
  (paramGroups as readonly { momentum?: number; betas?: readonly number[] }[]).map(
    ({ momentum, betas }) => momentum ?? betas![0],
  );
const ratesOf = ({ paramGroups }: optim.Optimizer) => paramGroups.map(({ lr }) => lr);

describe('matches torch', () => {
  test('the fixture has every schedule', () => {
    expect(Object.keys(golden.schedules)).toEqual(Object.keys(schedulers));
  });

  test.each(Object.entries(schedulers))('%s', (name, [createOptimizer, create]) => {
    const { rates, momenta } = golden.schedules[name];
    const optimizer = createOptimizer();
    const scheduler = create(optimizer);
    for (const [step, expected] of rates.entries()) {
      if (step > 0) scheduler.step();
      expectClose(`rates after step ${step}`, ratesOf(optimizer), expected, tolerance, 1);
      expect(scheduler.getLastLr()).toEqual(ratesOf(optimizer));
      expectClose(`momenta after step ${step}`, momentaOf(optimizer), momenta[step], tolerance);
    }
  });

  test.each(Object.entries(schedulers))('%s, resumed', (name, [createOptimizer, create]) => {
    const { rates } = golden.schedules[name];
    const [first, second] = [createOptimizer(), createOptimizer()];
    const stopped = create(first);
    for (let step = 1; step <= 5; step += 1) stopped.step();
    const resumed = create(second);
    second.loadStateDict(structuredClone(first.stateDict()));
    resumed.loadStateDict(JSON.parse(JSON.stringify(stopped.stateDict())) as never);
    expect(resumed.getLastLr()).toEqual(stopped.getLastLr());
    for (let step = 6; step < rates.length; step += 1) {
      resumed.step();
      expectClose(`rates after step ${step}`, ratesOf(second), rates[step], tolerance, 1);
    }
  });
});

test('two schedules on one optimizer are multiplied', () => {
  const optimizer = adam();
  const schedulers = [new lrScheduler.ExponentialLR(optimizer, 0.5), new lrScheduler.StepLR(optimizer, 2)];
  for (let step = 0; step < 2; step += 1) for (const scheduler of schedulers) scheduler.step();
  expect(optimizer.paramGroups[0].lr).toBeCloseTo(0.5 * 0.25 * 0.1, 12);
});

test('a group added after the scheduler keeps its rate', () => {
  const optimizer = adam();
  const scheduler = new lrScheduler.ExponentialLR(optimizer, 0.5);
  optimizer.addParamGroup({ params: [one()], lr: 3 });
  scheduler.step();
  expect(ratesOf(optimizer)).toEqual([0.25, 3]);
  expect(scheduler.getLastLr()).toEqual([0.25]);
});

test('getLastLr and stateDict return copies', () => {
  const scheduler = new lrScheduler.StepLR(adam(), 3);
  scheduler.getLastLr()[0] = 9;
  scheduler.stateDict().baseLrs[0] = 9;
  expect(scheduler.stateDict()).toEqual({ lastEpoch: 0, baseLrs: [0.5], lastLr: [0.5] });
});

describe('rejects', () => {
  const create = {
    step: (stepSize: number, gamma: number) => () => new lrScheduler.StepLR(adam(), stepSize, { gamma }),
    oneCycle:
      (options: optim.lrScheduler.OneCycleLROptions, maxLr: number | number[] = 1) =>
      () =>
        new lrScheduler.OneCycleLR(sgd(), maxLr, options),
  };
  test.each<[string, () => unknown]>([
    ['StepLR: stepSize must be a positive integer, got 0', create.step(0, 1)],
    ['StepLR: gamma must be at least 0, got -1', create.step(1, -1)],
    [
      'milestones must be epochs from 0 in ascending order, got [3,2]',
      () => new lrScheduler.MultiStepLR(adam(), [3, 2]),
    ],
    ['ExponentialLR: gamma must be at least 0, got NaN', () => new lrScheduler.ExponentialLR(adam(), NaN)],
    ['LinearLR: startFactor must be above 0', () => new lrScheduler.LinearLR(adam(), { startFactor: 0 })],
    [
      'LinearLR: endFactor must lie between 0 and 1, got 2',
      () => new lrScheduler.LinearLR(adam(), { endFactor: 2 }),
    ],
    [
      'CosineAnnealingLR: tMax must be a positive integer',
      () => new lrScheduler.CosineAnnealingLR(adam(), 2.5),
    ],
    [
      'LambdaLR: expected one value or one for each of the 2 groups, got 1',
      () => new lrScheduler.LambdaLR(sgd(), [() => 1]),
    ],
    [
      'LambdaLR: learning rates must be finite, got NaN for group 1 at step 0',
      () => new lrScheduler.LambdaLR(sgd(), [() => 1, () => NaN]),
    ],
    ['OneCycleLR: expected totalSteps, or epochs and stepsPerEpoch', create.oneCycle({ epochs: 3 })],
    ['OneCycleLR: totalSteps must be a positive integer', create.oneCycle({ totalSteps: -1 })],
    ['OneCycleLR: pctStart must lie between 0 and 1', create.oneCycle({ totalSteps: 1, pctStart: 30 })],
    [
      'expected one value or one for each of the 2 groups, got 3',
      create.oneCycle({ totalSteps: 1 }, [1, 2, 3]),
    ],
    [
      "annealStrategy must be 'cos' or 'linear', got 'exp'",
      create.oneCycle({ totalSteps: 1, annealStrategy: 'exp' as 'cos' }),
    ],
    [
      'expected an optimizer with momentum or betas. Pass cycleMomentum: false',
      () => new lrScheduler.OneCycleLR(new optim.Adadelta([one()]), 1, { totalSteps: 5 }),
    ],
    [
      'StepLR: expected an Optimizer as the first argument',
      () => new lrScheduler.StepLR(one() as unknown as optim.Optimizer, 1),
    ],
    [
      'expected schedulers of one optimizer, but scheduler 1 has another',
      () => {
        const [a, b] = [adam(), adam()];
        return new lrScheduler.SequentialLR(
          a,
          [new lrScheduler.LinearLR(a), new lrScheduler.LinearLR(b)],
          [1],
        );
      },
    ],
    [
      'SequentialLR: milestones must be epochs from 1 in ascending order, got [0]',
      () => {
        const optimizer = adam();
        const schedulers = [new lrScheduler.LinearLR(optimizer), new lrScheduler.LinearLR(optimizer)];
        return new lrScheduler.SequentialLR(optimizer, schedulers, [0]);
      },
    ],
    [
      'got 1 schedulers and 1 milestones',
      () => {
        const optimizer = adam();
        return new lrScheduler.SequentialLR(optimizer, [new lrScheduler.LinearLR(optimizer)], [1]);
      },
    ],
  ])('%s', (message, build) => {
    expect(build).toThrow(ArgumentError);
    expect(build).toThrow(message);
  });

  test('a step after the end of a cycle, and changes nothing', () => {
    const optimizer = sgd();
    const scheduler = new lrScheduler.OneCycleLR(optimizer, 1, { totalSteps: 2 });
    scheduler.step();
    scheduler.step();
    const before = [optimizer.stateDict(), scheduler.stateDict()];
    expect(() => {
      scheduler.step();
    }).toThrow('OneCycleLR: expected at most 2 steps, got step 3');
    expect([optimizer.stateDict(), scheduler.stateDict()]).toEqual(before);
  });

  test('a state with other groups or schedulers, and changes nothing', () => {
    const optimizer = sgd();
    const [linear, step] = [new lrScheduler.LinearLR(optimizer), new lrScheduler.StepLR(optimizer, 1)];
    const both = new lrScheduler.SequentialLR(optimizer, [linear, step], [2]);
    const other = new lrScheduler.StepLR(adam(), 1).stateDict();
    const before = both.stateDict();
    expect(() => {
      linear.loadStateDict(other);
    }).toThrow(
      'LinearLR: expected a state { lastEpoch, baseLrs, lastLr } with a rate for each of the 2 groups',
    );
    const { schedulers } = structuredClone(before);
    schedulers[0].lastEpoch = 7;
    expect(() => {
      both.loadStateDict({ lastEpoch: 1, schedulers: [schedulers[0], other] });
    }).toThrow('StepLR: expected a state');
    expect(() => {
      both.loadStateDict({ lastEpoch: 1, schedulers: [] });
    }).toThrow('of 2 schedulers');
    expect(both.stateDict()).toEqual(before);
  });
});
