import { readdirSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { loadSafetensors } from 'ringrun';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import {
  EarlyStopping,
  ModelCheckpoint,
  Trainer,
  type Callback,
  type EarlyStoppingOptions,
  type Logger,
  type TrainerOptions,
  type TrainingContext,
} from '../../src/index.ts';
import { isBetter } from '../../src/callbacks/monitored.ts';
import { Net, problem, stateOf } from '../../../../test/fixtures/train/problem.ts';

const quiet: TrainerOptions = { enableProgressBar: false };

/** A training whose validations have these losses. */
async function withLosses(losses: readonly number[], options: TrainerOptions) {
  const { model, trainLoader, validationLoader, optimizer, loss } = problem();
  let validation = -1;
  const count: Callback = { onValidationStart: () => void (validation += 1) };
  const callbacks = [count, ...(options.callbacks ?? [])];
  const result = await new Trainer({ ...quiet, maxEpochs: losses.length, ...options, callbacks }).fit(model, {
    trainLoader,
    validationLoader,
    optimizer,
    loss,
    validationStep: () => ({ loss: losses[validation] }),
  });
  return { model, result };
}

test.each<[string, EarlyStoppingOptions, readonly number[], number]>([
  ['3 validations without a lower loss', { monitor: 'val/loss' }, [3, 2, 2, 2.5, 2, 1, 1], 5],
  ['patience 1', { monitor: 'val/loss', patience: 1 }, [3, 2, 2, 1], 3],
  [
    'minDelta, which is too much once',
    { monitor: 'val/loss', patience: 1, minDelta: 0.5 },
    [3, 2, 1.6, 1],
    3,
  ],
  ['a higher value', { monitor: 'val/loss', patience: 2, mode: 'max' }, [1, 2, 2, 2, 3], 4],
  ['NaN', { monitor: 'val/loss' }, [1, NaN, 1], 2],
])('early stopping: %s', async (_, options, losses, epochs) => {
  const output = new PassThrough({ encoding: 'utf8' });
  const callbacks = [new EarlyStopping(options)];
  const { result } = await withLosses(losses, { callbacks, enableProgressBar: true, report: { output } });
  expect(result).toMatchObject({ epochs, stoppedEarly: true });
  expect(String(output.read())).toContain('\nstops early: val/loss ');
});

test('early stopping goes on while NaN is allowed, and names the metrics that there are', async () => {
  const stopping = new EarlyStopping({ monitor: 'val/loss', checkFinite: false });
  const { result } = await withLosses([1, NaN, 0.5], { callbacks: [stopping] });
  expect(result.stoppedEarly).toBe(false);
  expect(stopping.bestScore).toBe(0.5);
  await expect(withLosses([1], { callbacks: [new EarlyStopping({ monitor: 'val/auroc' })] })).rejects.toThrow(
    'EarlyStopping: monitor: expected a number named val/auroc, got none. The training has val/loss.',
  );
});

test('the best models are kept, and the last', async () => {
  const dir = temporaryFolder();
  const best = new ModelCheckpoint({ dir, monitor: 'val/loss', saveTopK: 2, saveLast: true });
  const states: Record<string, number[]>[] = [];
  const record: Callback = { onValidationEnd: ({ modules }) => void states.push(stateOf(modules['model'])) };
  await withLosses([3, 1, 4, 1, 2], { callbacks: [best, record] });
  expect(readdirSync(dir).sort()).toEqual([
    'epoch=1-step=12.safetensors',
    'epoch=3-step=24.safetensors',
    'last.safetensors',
  ]);
  expect([best.bestModelPath, best.bestModelScore]).toEqual([`${dir}/epoch=1-step=12.safetensors`, 1]);
  for (const [path, validation] of [
    [best.bestModelPath!, 1],
    [`${dir}/last.safetensors`, 4],
  ] as const) {
    const model = new Net();
    model.loadStateDict(await loadSafetensors(path));
    expect(stateOf(model)).toEqual(states[validation]);
  }
});

test('without a metric, the newest model is kept', async () => {
  const dir = temporaryFolder();
  const newest = new ModelCheckpoint({ dir });
  await withLosses([1, 2, 3], { callbacks: [newest] });
  expect(readdirSync(dir)).toEqual(['epoch=2-step=18.safetensors']);
  expect(newest.bestModelScore).toBeUndefined();
});

test('nothing is better than NaN, and a first value is better than none', () => {
  expect(isBetter(NaN, undefined, 'min')).toBe(false);
  expect(isBetter(Infinity, undefined, 'min')).toBe(true);
  expect([isBetter(1, 2, 'min'), isBetter(2, 2, 'min'), isBetter(1.5, 2, 'min', 0.5)]).toEqual([
    true,
    false,
    false,
  ]);
  expect([isBetter(3, 2, 'max'), isBetter(2.5, 2, 'max', 0.5)]).toEqual([true, false]);
});

test('hooks and loggers are called in order, with the values of the training', async () => {
  const { model, ...fit } = problem({ samples: 24, batchSize: 8 });
  const calls: unknown[] = [];
  const hook =
    (name: string) =>
    ({ globalStep, currentEpoch }: TrainingContext) =>
      void calls.push(`${name} ${globalStep} ${currentEpoch}`);
  const names = [
    'onFitStart',
    'onEpochStart',
    'onTrainBatchEnd',
    'onValidationStart',
    'onValidationEnd',
  ] as const;
  const others = ['onEpochEnd', 'onFitEnd'] as const;
  const callback = Object.fromEntries([...names, ...others].map((name) => [name, hook(name)])) as Callback;
  const logger: Logger = {
    logHyperparameters: (values) => void calls.push(values),
    logMetrics: (metrics, step) => void calls.push(`log ${step} ${Object.keys(metrics).join()}`),
    close: (outcome) => Promise.resolve(void calls.push(`close ${outcome}`)),
  };
  await new Trainer({
    ...quiet,
    maxEpochs: 1,
    callbacks: [callback],
    logger,
    logEveryNSteps: 2,
    hyperparameters: { lr: 0.01 },
  }).fit(model, fit);
  expect(calls).toEqual([
    { lr: 0.01 },
    'onFitStart 0 0',
    'onEpochStart 0 0',
    'log 1 train/learning_rate,train/loss',
    'onTrainBatchEnd 1 0',
    'onTrainBatchEnd 2 0',
    'log 3 train/learning_rate,train/loss',
    'onTrainBatchEnd 3 0',
    'onValidationStart 3 0',
    'log 3 val/loss',
    'onValidationEnd 3 0',
    'onEpochEnd 3 0',
    'onFitEnd 3 1',
    'close finished',
  ]);
});

test('an error is passed on, after callbacks and loggers have seen it', async () => {
  const { model, ...fit } = problem();
  const seen: unknown[] = [];
  const failing: Callback = {
    onTrainBatchEnd: () => {
      throw new Error('full');
    },
    onException: (_, error) => void seen.push((error as Error).message),
  };
  const logger: Logger = {
    logHyperparameters: () => undefined,
    logMetrics: () => undefined,
    close: (outcome) => Promise.resolve(void seen.push(outcome)),
  };
  await expect(new Trainer({ ...quiet, callbacks: [failing], logger }).fit(model, fit)).rejects.toThrow(
    'full',
  );
  expect(seen).toEqual(['full', 'failed']);
});
