import { PassThrough } from 'node:stream';
import { F, autocast, noGrad, optim, tensor, type Tensor } from '@ringrun/nn';
import { DataLoader } from 'ringrun';
import { describe, expect, test } from 'vitest';
import { Accuracy, Trainer, type Callback, type Logger, type TrainerOptions } from '../../src/index.ts';
import { Net, asTensors, points, problem, stateOf } from '../../../../test/fixtures/train/problem.ts';

const quiet: TrainerOptions = { enableProgressBar: false };

const noLogger: Logger = {
  logHyperparameters: () => undefined,
  logMetrics: () => undefined,
  close: () => Promise.resolve(),
};

/** Two epochs of a loop by hand. */
async function byHand(
  step: (
    parts: ReturnType<typeof problem>,
    loss: () => Tensor,
    batch: number,
    isLast: boolean,
  ) => Promise<void>,
): Promise<Record<string, number[]>> {
  const parts = problem();
  const { model, trainLoader } = parts;
  model.train();
  for (let epoch = 0; epoch < 2; epoch += 1) {
    let batch = 0;
    for await (const one of trainLoader) {
      const [x, label] = asTensors(one);
      const isLast = batch + 1 === trainLoader.length;
      await step(parts, () => F.crossEntropy(model.forward(x), label), batch, isLast);
      batch += 1;
    }
  }
  return stateOf(model);
}

async function fitted(options: TrainerOptions): Promise<Record<string, number[]>> {
  const { model, trainLoader, optimizer, loss } = problem();
  const result = await new Trainer({ ...quiet, maxEpochs: 2, ...options }).fit(model, {
    trainLoader,
    optimizer,
    loss,
  });
  expect(result).toMatchObject({ epochs: 2, stoppedEarly: false, validation: undefined });
  return stateOf(model);
}

describe('fit has the bits of a loop by hand', () => {
  test('with and without compiling the step', async () => {
    const expected = await byHand(async ({ optimizer }, loss) => {
      optimizer.zeroGrad();
      await loss().backward();
      await optimizer.step();
    });
    expect(await fitted({})).toEqual(expected);
    expect(await fitted({ compile: false })).toEqual(expected);
  });

  test('with accumulation, which ends at the last batch of an epoch, and clipping', async () => {
    const expected = await byHand(async ({ optimizer }, loss, batch, isLast) => {
      if (batch % 4 === 0) optimizer.zeroGrad();
      await loss().div(4).backward();
      if (batch % 4 === 3 || isLast) await optimizer.step({ clipGradNorm: 0.1 });
    });
    expect(await fitted({ accumulateGradBatches: 4, gradientClipVal: 0.1 })).toEqual(expected);
  });

  test('in bfloat16, with gradients that are clamped', async () => {
    const expected = await byHand(async ({ optimizer }, loss) => {
      optimizer.zeroGrad();
      await autocast({ dtype: 'bfloat16' }, loss).backward();
      await optimizer.step({ clipGradValue: 0.01 });
    });
    const clipped = { gradientClipVal: 0.01, gradientClipAlgorithm: 'value' } as const;
    expect(await fitted({ precision: 'bf16', ...clipped })).toEqual(expected);
    expect(await fitted({ precision: 'bf16', ...clipped, compile: false })).toEqual(expected);
  });

  test('with a step of its own', async () => {
    const expected = await byHand(async ({ optimizer }, loss) => {
      optimizer.zeroGrad();
      await loss().backward();
      await optimizer.step();
    });
    const { model, trainLoader, optimizer } = problem();
    const steps: number[][] = [];
    await new Trainer({ ...quiet, maxEpochs: 2 }).fit(model, {
      trainLoader,
      optimizer: { own: optimizer },
      trainingStep: async (batch, { model: given, optimizers, globalStep, currentEpoch, batchIndex }) => {
        const [x, label] = asTensors(batch);
        const loss = F.crossEntropy(given.forward(x), label);
        optimizers['own'].zeroGrad();
        await loss.backward();
        await optimizers['own'].step();
        steps.push([globalStep, currentEpoch, batchIndex]);
        return { loss, twice: loss.mul(2) };
      },
    });
    expect(stateOf(model)).toEqual(expected);
    expect(steps.slice(4, 8)).toEqual([
      [4, 0, 4],
      [5, 0, 5],
      [6, 1, 0],
      [7, 1, 1],
    ]);
  });
});

describe('batchLoss', () => {
  const named = (scores: Tensor, label: Tensor) => {
    const loss = F.crossEntropy(scores, label);
    return { total: loss.mul(2), loss };
  };

  test.each<[string, TrainerOptions]>([
    ['compiled', {}],
    ['in two parts', { compile: false }],
    ['accumulated, in bfloat16', { accumulateGradBatches: 2, precision: 'bf16' }],
  ])('has the bits of a loss of the output, %s', async (_, options) => {
    const settings = { ...quiet, maxEpochs: 2, ...options };
    const expected = problem();
    await new Trainer(settings).fit(expected.model, {
      trainLoader: expected.trainLoader,
      optimizer: expected.optimizer,
      loss: (scores, label) => named(scores, label).total,
    });
    const { model, trainLoader, optimizer } = problem();
    const seen: number[] = [];
    const callback: Callback = {
      onTrainBatchEnd: async (__, { loss }) => {
        seen.push(typeof loss === 'number' ? loss : await loss.item());
      },
    };
    const logged: Readonly<Record<string, unknown>>[] = [];
    const logger = {
      ...noLogger,
      logMetrics: (values: Readonly<Record<string, number>>) => logged.push(values),
    };
    await new Trainer({ ...settings, callbacks: [callback], logger, logEveryNSteps: 1 }).fit(
      { model },
      {
        trainLoader,
        optimizer,
        batchLoss: (batch, models) => {
          const [x, label] = asTensors(batch);
          return named(models.model.forward(x), label);
        },
      },
    );
    expect(stateOf(model)).toEqual(stateOf(expected.model));
    // The first is minimized, and all are logged.
    expect(logged.map((one) => one['train/total'])).toEqual(seen);
    for (const one of logged) expect(one['train/loss']).toBeCloseTo((one['train/total'] as number) / 2, 2);
  });

  test('evaluates its first value without a validationStep', async () => {
    const { model, validationLoader: loader, loss } = problem();
    const trainer = new Trainer(quiet);
    const found = await trainer.evaluate(model, {
      loader,
      batchLoss: (batch, given) => {
        const [x, label] = asTensors(batch);
        return named(given.forward(x), label);
      },
    });
    const expected = await trainer.evaluate(model, { loader, loss });
    expect(found['loss']).toBeCloseTo(2 * (expected['loss'] as number), 5);
  });
});

test('the progress of a training that is shorter than an epoch counts to its last step', async () => {
  const { model, trainLoader, optimizer, loss } = problem();
  const output = new PassThrough({ encoding: 'utf8' });
  const trainer = new Trainer({ maxSteps: 4, logEveryNSteps: 2, report: { output } });
  await trainer.fit(model, { trainLoader, optimizer, loss });
  const lines = String(output.read()).split('\n');
  const progress = lines.filter((line) => line.startsWith('Train Epoch')).map((line) => line.split('\t')[0]);
  expect(progress).toEqual(['Train Epoch: 1 [0/32 (0%)]', 'Train Epoch: 1 [16/32 (50%)]']);
});

describe('a validation', () => {
  test('has the mean loss over samples and the metrics, in evaluation mode, and prints a line', async () => {
    const { model, ...fit } = problem();
    const output = new PassThrough({ encoding: 'utf8' });
    const metrics = { accuracy: new Accuracy({ task: 'multiclass', numClasses: 3 }) };
    const trainer = new Trainer({ maxEpochs: 2, report: { output } });
    const { validation } = await trainer.fit(model, { ...fit, metrics });
    const set = points(15, 1000);
    const all = Array.from({ length: 15 }, (_, i) => set.at(i));
    const x = tensor(Float32Array.from(all.flatMap((one) => [...one.x])), [15, 4]);
    const labels = tensor(BigInt64Array.from(all.map(({ label }) => label)));
    model.eval();
    const scores = noGrad(() => model.forward(x));
    const right = await scores.argmax(1).eq(labels).float().mean().item();
    expect(validation!['accuracy']).toBeCloseTo(right, 6);
    expect(validation!['loss']).toBeCloseTo(await F.crossEntropy(scores, labels).item(), 5);
    const lines = String(output.read()).split('\n');
    expect(lines.filter((line) => line.startsWith('Train Epoch: 2'))).toHaveLength(1);
    const { accuracy, loss } = validation as Record<string, number>;
    expect(lines).toContain(`accuracy=${accuracy.toFixed(4)}\tloss=${loss.toFixed(4)}`);

    const { validationLoader: loader, loss: lossOf } = fit;
    expect(await trainer.evaluate(model, { loader, loss: lossOf, metrics })).toEqual(validation);
    expect(model.training).toBe(false);
  });

  test('runs after a number of steps or epochs, and at the end of the steps', async () => {
    const validated = async (options: TrainerOptions) => {
      const { model, ...fit } = problem();
      const steps: number[] = [];
      const onValidationEnd = ({ globalStep }: { globalStep: number }) => void steps.push(globalStep);
      await new Trainer({ ...quiet, ...options, callbacks: [{ onValidationEnd }] }).fit(model, fit);
      return steps;
    };
    expect(await validated({ maxEpochs: 3, checkValEveryNEpoch: 2 })).toEqual([12]);
    expect(await validated({ maxEpochs: 2, valCheckInterval: 4 })).toEqual([4, 8, 12]);
    expect(await validated({ maxSteps: 8 })).toEqual([6, 8]);
    expect(await validated({ maxEpochs: 2, accumulateGradBatches: 2 })).toEqual([3, 6]);
  });

  test('of a step of its own, with predictions for metrics', async () => {
    const model = new Net();
    const loader = new DataLoader(points(8), { batchSize: 4 });
    const metrics = { accuracy: new Accuracy({ task: 'multiclass', numClasses: 3 }) };
    const found = await new Trainer(quiet).evaluate(model, {
      loader,
      metrics,
      validationStep: (batch) => ({ loss: 2, predictions: batch.label, target: batch.label, samples: 1 }),
    });
    expect(found).toEqual({ accuracy: 1, loss: 2 });
  });

  test('of a step of its own has the values of loss and metrics', async () => {
    const { model, validationLoader: loader, loss } = problem();
    const metrics = { accuracy: new Accuracy({ task: 'multiclass', numClasses: 3 }) };
    const trainer = new Trainer(quiet);
    const expected = await trainer.evaluate(model, { loader, metrics, loss });
    const found = await trainer.evaluate(model, {
      loader,
      metrics,
      validationStep: (batch, given) => {
        const [x, target] = asTensors(batch);
        const predictions = given.forward(x);
        return { loss: loss(predictions, target), predictions, target };
      },
    });
    expect(found).toEqual(expected);
  });
});

test('schedulers are stepped by epoch, by step, and by a metric', async () => {
  const { StepLR, ReduceLROnPlateau } = optim.lrScheduler;
  const rateAfter = async (
    scheduler: (optimizer: optim.Optimizer) => Parameters<Trainer['fit']>[1]['scheduler'],
  ) => {
    const { model, ...fit } = problem();
    const given = scheduler(fit.optimizer);
    await new Trainer({ ...quiet, maxEpochs: 3 }).fit(model, { ...fit, ...(given && { scheduler: given }) });
    return fit.optimizer.paramGroups[0].lr;
  };
  expect(await rateAfter((optimizer) => new StepLR(optimizer, 1, { gamma: 0.5 }))).toBeCloseTo(0.01 / 8, 10);
  expect(
    await rateAfter((optimizer) => [
      { scheduler: new StepLR(optimizer, 9, { gamma: 0.5 }), interval: 'step' },
      { scheduler: new StepLR(optimizer, 1, { gamma: 0.5 }), frequency: 2 },
    ]),
  ).toBeCloseTo(0.01 / 8, 10);
  const plateau = (monitor: string) => (optimizer: optim.Optimizer) => ({
    scheduler: new ReduceLROnPlateau(optimizer, {
      patience: 0,
      factor: 0.5,
      threshold: 1e6,
      thresholdMode: 'abs',
    }),
    monitor,
  });
  expect(await rateAfter(plateau('val/loss'))).toBeCloseTo(0.01 / 4, 10);
  expect(await rateAfter(plateau('train/loss'))).toBeCloseTo(0.01 / 4, 10);
  await expect(rateAfter(plateau('val/f1'))).rejects.toThrow(
    /ReduceLROnPlateau: monitor: expected a number named val\/f1, got none\. The training has .*val\/loss/,
  );
});

test.each<[string, () => unknown, RegExp]>([
  ['an unknown option', () => new Trainer({ epochs: 3 } as never), /Trainer: .*epochs/],
  ['no epochs', () => new Trainer({ maxEpochs: 0 }), /maxEpochs must be an integer of at least 1, got 0/],
  ['another precision', () => new Trainer({ precision: '16' as 'bf16' }), /precision: expected one of/],
  ['auto without a folder', () => new Trainer({ resume: 'auto' }), /resume: expected a checkpoint folder/],
  [
    'recovery with accumulation',
    () => new Trainer({ faultTolerance: 'shrink', accumulateGradBatches: 2 }),
    /faultTolerance: 'shrink': expected no accumulateGradBatches, .*, got 2\. Use a larger batch\./,
  ],
  [
    'recovery with diloco',
    () => new Trainer({ faultTolerance: 'shrink', diloco: {} }),
    /faultTolerance: 'shrink': expected no diloco, got it/,
  ],
  [
    'recovery with a step of its own',
    () =>
      new Trainer({ ...quiet, faultTolerance: 'shrink' }).fit(problem().model, {
        ...problem(),
        trainingStep: () => Promise.resolve(1),
      }),
    /expected one backward pass in a step, got a trainingStep/,
  ],
  ['minRanks alone', () => new Trainer({ minRanks: 2 }), /minRanks: expected faultTolerance: 'shrink'/],
  [
    'two optimizers without a step',
    () =>
      new Trainer(quiet).fit(problem().model, {
        ...problem(),
        optimizer: { a: problem().optimizer, b: problem().optimizer },
      }),
    /expected one optimizer, or a trainingStep, got 2/,
  ],
  [
    'no loss',
    () => new Trainer(quiet).fit(problem().model, { ...problem(), loss: undefined as never }),
    /expected a loss, or a trainingStep/,
  ],
  [
    'a recorded graph of a batchLoss',
    () =>
      new Trainer({ ...quiet, compile: { traceOnce: true } }).fit(problem().model, {
        ...problem(),
        batchLoss: (batch, model) => F.crossEntropy(model.forward(asTensors(batch)[0]), asTensors(batch)[1]),
      }),
    /expected no compile\.traceOnce with batchLoss/,
  ],
  [
    'clipping beside a step of its own',
    () =>
      new Trainer({ ...quiet, gradientClipVal: 1 }).fit(problem().model, {
        ...problem(),
        trainingStep: () => Promise.resolve(1),
      }),
    /expected no gradientClipVal with a trainingStep/,
  ],
  [
    'a batch of one field',
    () => new Trainer(quiet).fit(problem().model, { ...problem(), trainLoader: [{ x: Float32Array.of(1) }] }),
    /expected a batch with two fields/,
  ],
])('%s is refused', async (_, call, message) => {
  await expect((async () => await call())()).rejects.toThrow(message);
});
