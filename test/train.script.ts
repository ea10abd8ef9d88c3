// Trainings with the Trainer of @ringrun/train on one or several ranks: see train.test.ts.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { F, manualSeed, nn, optim, randn, type Tensor } from '@ringrun/nn';
import {
  Accuracy,
  EarlyStopping,
  JsonLinesLogger,
  ModelCheckpoint,
  Trainer,
  type Callback,
  type Logger,
  type TrainerOptions,
} from '@ringrun/train';
import { broadcastObject, getRank, getWorldSize, parametersDigest } from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';
import { problem, stateOf } from './fixtures/train/problem.ts';

const quiet: TrainerOptions = { enableProgressBar: false };
const metrics = { accuracy: new Accuracy({ task: 'multiclass', numClasses: 3 }) };

/** Trains, and ends with a crash of all ranks after a step. */
async function trained(options: TrainerOptions, crashAt = Infinity) {
  const { model, ...fit } = problem();
  manualSeed(20 + getRank());
  const scheduler = { scheduler: new optim.lrScheduler.StepLR(fit.optimizer, 4), interval: 'step' } as const;
  const losses: unknown[] = [];
  const saved: number[] = [];
  const callback: Callback = {
    onValidationEnd: (_, values) => void losses.push(values['val/loss']),
    onSave: ({ globalStep, log }) => {
      saved.push(globalStep);
      log(`saved at ${globalStep}`);
    },
    onTrainBatchEnd: ({ globalStep }) => {
      if (globalStep === crashAt) throw new Error('crash');
    },
  };
  const early = new EarlyStopping({ monitor: 'val/loss', patience: 50 });
  const callbacks = [callback, early, ...(options.callbacks ?? [])];
  const result = await new Trainer({ ...quiet, maxEpochs: 4, ...options, callbacks })
    .fit(model, { ...fit, scheduler, metrics })
    .catch((error: unknown) => {
      if ((error as Error).message !== 'crash') throw error;
    });
  return { digest: parametersDigest(model), losses, saved, result, early: early.stateDict() };
}

/** A folder that all ranks know. */
async function newFolder(): Promise<string> {
  const own = getRank() === 0 ? mkdtempSync(join(tmpdir(), 'ringrun-test-train-')) : '';
  return await broadcastObject(own);
}

await runScenario({
  /** Uninterrupted, and resumed after a crash: in an epoch, after one, between accumulated steps. */
  resume: async () => {
    const runs = [];
    for (const [options, crashAt] of [
      [{}, 5],
      [{}, 8],
      [{ accumulateGradBatches: 2, maxEpochs: 6 }, 5],
    ] as const) {
      const checkpoint = { dir: await newFolder(), everyNTrainSteps: 2 };
      const whole = await trained(options);
      const before = await trained({ ...options, checkpoint }, crashAt);
      const after = await trained({ ...options, checkpoint, resume: 'auto' });
      runs.push({ whole, before, after });
    }
    return runs;
  },
  /** Ends in an epoch, continues with more steps, and then has nothing left to do. */
  steps: async () => {
    const checkpoint = { dir: await newFolder() };
    const whole = await trained({ maxSteps: 10 });
    const first = await trained({ checkpoint, maxSteps: 4 });
    const second = await trained({ checkpoint, resume: 'auto', maxSteps: 10 });
    const none = await trained({ resume: checkpoint.dir, maxSteps: 10 });
    return { whole, first, second, none };
  },
  /** Saves the best training after an epoch or within one, and continues there. */
  best: async () => {
    const runs = [];
    for (const options of [{}, { valCheckInterval: 4, maxEpochs: 4 }]) {
      const whole = await trained(options);
      const saving = { monitor: 'val/loss', weightsOnly: false, saveLast: true } as const;
      const dir = await newFolder();
      const best = new ModelCheckpoint({ dir, ...saving });
      await trained({ ...options, maxEpochs: 2, callbacks: [best] });
      const path = best.bestModelPath!;
      const last = await trained({ ...options, resume: join(dir, 'last') });
      const again = new ModelCheckpoint({ dir, ...saving });
      const after = await trained({ ...options, resume: path, callbacks: [again] });
      runs.push({ whole, after, last, path });
    }
    return runs;
  },
  loggers: async () => {
    const resumed: unknown[] = [];
    const logger: Logger = {
      logHyperparameters: () => undefined,
      logMetrics: () => undefined,
      close: () => Promise.resolve(),
      stateDict: () => ({ runId: `run${getRank()}` }),
      resume: (...given) => void resumed.push(given),
    };
    const checkpoint = { dir: await newFolder() };
    await trained({ checkpoint, logger, maxEpochs: 1 });
    await trained({ checkpoint, logger, maxEpochs: 2, resume: 'auto' });
    return resumed;
  },
  /** Validations, files and the decision to stop. */
  fit: async () => {
    const dir = await newFolder();
    const path = join(dir, 'metrics.jsonl');
    const options = { maxEpochs: 3, logger: new JsonLinesLogger({ path }), logEveryNSteps: 2 };
    const best = new ModelCheckpoint({ dir, monitor: 'val/accuracy', mode: 'max' });
    const run = await trained({ ...options, callbacks: [best] });
    const onOneRank: Callback = {
      onEpochEnd: (training) => {
        training.shouldStop = getRank() === getWorldSize() - 1 && training.currentEpoch === 1;
      },
    };
    const stopped = await trained({ callbacks: [onOneRank] });
    const { model, validationLoader: loader, loss } = problem();
    const untrained = await new Trainer(quiet).evaluate(model, { loader, loss, metrics });
    // Each rank has running statistics of its own after the training, and those of rank 0 for an evaluation.
    const { model: trainedModel, ...fit } = problem();
    const trainer = new Trainer({ ...quiet, maxEpochs: 1 });
    await trainer.fit(trainedModel, { trainLoader: fit.trainLoader, loss, optimizer: fit.optimizer });
    const after = await trainer.evaluate(trainedModel, { loader, loss, metrics });
    const state = stateOf(trainedModel);
    return { run, stopped: stopped.result, untrained, after, state, path, best: best.bestModelPath };
  },
  /** Two models, two optimizers. */
  gan: async () => {
    manualSeed(1);
    const generator = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2));
    const discriminator = new nn.Sequential(new nn.Linear(2, 8), new nn.ReLU(), new nn.Linear(8, 1));
    manualSeed(10 + getRank());
    const real = Array.from({ length: 6 }, () => [randn(8, 2).add(2)]);
    const step = async (optimizer: optim.Optimizer, loss: Tensor) => {
      optimizer.zeroGrad();
      await loss.backward();
      await optimizer.step();
    };
    const result = await new Trainer({ ...quiet, maxEpochs: 2 }).fit(
      { generator, discriminator },
      {
        trainLoader: real,
        optimizer: {
          generator: new optim.Adam(generator.parameters(), { lr: 1e-2 }),
          discriminator: new optim.Adam(discriminator.parameters(), { lr: 1e-2 }),
        },
        trainingStep: async ([batch], { model, optimizers }) => {
          const fake = model.generator.forward(randn(8, 4));
          const lossD = F.softplus(model.discriminator.forward(fake.detach()))
            .add(F.softplus(model.discriminator.forward(batch).neg()))
            .mean();
          await step(optimizers['discriminator'], lossD);
          const lossG = F.softplus(model.discriminator.forward(fake).neg()).mean();
          await step(optimizers['generator'], lossG);
          return { generator: lossG, discriminator: lossD };
        },
      },
    );
    return { result, digests: [generator, discriminator].map(parametersDigest) };
  },
  /** Rank 1 is preempted in its first start. */
  preempted: async () => {
    const [dir, isFirst] = [process.env['TRAIN_DIR']!, process.env['TRAIN_FIRST'] === '1'];
    const callback: Callback = {
      onTrainBatchEnd: ({ globalStep }) => {
        if (isFirst && getRank() === 1 && globalStep === 4) process.kill(process.pid, 'SIGTERM');
      },
    };
    const logger: Logger = {
      logHyperparameters: () => undefined,
      logMetrics: () => undefined,
      close: (outcome) => {
        console.log(`closed: ${outcome}`);
        return Promise.resolve();
      },
    };
    const checkpoint = { dir: join(dir, 'checkpoints') };
    const { digest } = await trained({
      checkpoint,
      logger,
      resume: 'auto',
      callbacks: [callback],
      enableProgressBar: true,
    });
    return { digest, whole: (await trained({})).digest };
  },
});
