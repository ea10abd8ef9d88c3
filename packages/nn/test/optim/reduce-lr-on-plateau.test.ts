import { expect, test } from 'vitest';
import { optim, Parameter } from '../../src/index.ts';
import { goldenFile } from '../support/golden-cases.ts';

const { ReduceLROnPlateau } = optim.lrScheduler;

// PyTorch's rates, as written by `test/golden/optimizers.py`.
const golden = goldenFile('optimizers') as {
  metrics: readonly string[];
  plateaus: readonly { settings: object; rates: readonly (readonly number[])[] }[];
};
const metrics = golden.metrics.map(Number);

const one = () => new Parameter(new Float32Array(1), [1]);
const sgd = () => new optim.SGD([{ params: one() }, { params: one(), lr: 0.02 }], { lr: 0.5, momentum: 0.9 });

test.each(golden.plateaus)('$settings has torch’s rates, even when resumed', ({ settings, rates }) => {
  let optimizer = sgd();
  let scheduler = new ReduceLROnPlateau(optimizer, settings);
  const found = metrics.map((metric, epoch) => {
    if (epoch === 7) {
      const [saved, rate] = [structuredClone(scheduler.stateDict()), optimizer.stateDict()];
      optimizer = sgd();
      scheduler = new ReduceLROnPlateau(optimizer, settings);
      optimizer.loadStateDict(rate);
      scheduler.loadStateDict(saved);
    }
    scheduler.step(metric);
    expect(scheduler.getLastLr()).toEqual(optimizer.paramGroups.map(({ lr }) => lr));
    return scheduler.getLastLr();
  });
  for (const [epoch, expected] of rates.entries()) {
    for (const [group, rate] of expected.entries()) expect(found[epoch][group]).toBeCloseTo(rate, 12);
  }
  expect(new Set(rates.map(([rate]) => rate)).size).toBeGreaterThan(1);
});

test('rejects invalid settings, metrics and states', () => {
  const optimizer = sgd();
  expect(() => new ReduceLROnPlateau(optimizer, { factor: 1 })).toThrow('factor must be below 1, got 1.');
  expect(() => new ReduceLROnPlateau(optimizer, { mode: 'least' as never })).toThrow(
    "mode must be 'min' or 'max', got 'least'.",
  );
  expect(() => new ReduceLROnPlateau(optimizer, { minLr: [0] })).toThrow('one for each of the 2 groups');
  const scheduler = new ReduceLROnPlateau(optimizer);
  const before = scheduler.stateDict();
  expect(() => {
    scheduler.step(undefined as never);
  }).toThrow('expected a metric, got undefined.');
  expect(() => {
    scheduler.loadStateDict({ ...before, lastLr: [1] });
  }).toThrow('a rate for each of the 2 groups');
  expect(scheduler.stateDict()).toEqual(before);
});
