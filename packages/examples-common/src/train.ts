import { manualSeed } from '@ringrun/nn';
import {
  JsonLinesLogger,
  Trainer,
  type Callback,
  type TrainableModule,
  type TrainerOptions,
} from '@ringrun/train';
import { DataLoader, DistributedSampler, verifyIdenticalParameters, type ProcessGroup } from 'ringrun';
import { Throughput, rankCount } from './callbacks.ts';
import { effectiveBatch, learningRate } from './effective-batch.ts';
import { firstSettings, mainSettings } from './phases.ts';
import { saveFile } from './saved-file.ts';
import { usualBatch, type SharedSettings } from './shared-options.ts';
import type { FirstPhase, Task, TaskData } from './task.ts';

/** Results of a training, on the validation samples of all ranks. */
export interface Outcome<Model = unknown> {
  /** The trained model. */
  model: Model;
  /** The mean loss over the validation samples, and the metrics. */
  values: Readonly<Record<string, number>>;
  ranks: number;
  /** Per rank. */
  steps: number;
  /** Training time, without evaluation; the same on all ranks. */
  seconds: number;
  /** Samples per second of all ranks, or what else the task counts. */
  perSecond: number;
  /** Name of what `perSecond` counts. */
  unit: string;
}

/** Trains on the ranks of a group. Every rank of the group must call it; rank 0 prints the log. */
export async function train<Model extends TrainableModule, Sample, Batch>(
  task: Task<Model, Sample, Batch>,
  group: ProcessGroup,
): Promise<Outcome<Model>> {
  const { settings, defaults, evaluation } = task;
  const { rank, size } = group;
  const log = (line: string) => {
    if (rank === 0) console.log(line);
  };
  const batch = effectiveBatch(settings, size);
  const { trainLoader, validationLoader } = loadersOf(task.data, settings, batch.perRank, group);

  manualSeed(settings.seed);
  const model = await task.createModel();
  const lr = learningRate(settings, batch.global, usualBatch(defaults));
  // Random numbers after initialization (dropout) differ between ranks.
  manualSeed(settings.seed + rank);

  const throughput = new Throughput(group, defaults.unit, task.rate);
  const fit = async (
    trainer: Trainer,
    { epochs, optimization }: Pick<FirstPhase<Model>, 'epochs' | 'optimization'>,
  ) => {
    const { optimizer, scheduler } = optimization(model, lr, { stepsPerEpoch: trainLoader.length, epochs });
    const result = await trainer.fit(model, {
      ...evaluation,
      trainLoader,
      validationLoader,
      optimizer,
      ...(scheduler && { scheduler: { scheduler, interval: 'step' } as const }),
    });
    // Another optimizer may change the same parameters.
    optimizer.release();
    return result;
  };
  const { first } = task;
  if (first) {
    const own = firstSettings(settings, first);
    if (own !== undefined) {
      first.begin(model);
      await fit(trainerOf({ ...task, settings: own }, group, []), first);
    }
    first.end(model);
  }
  const trainer = trainerOf({ ...task, settings: first ? mainSettings(settings, first) : settings }, group, [
    throughput,
  ]);
  const { epochs } = settings;
  const { globalStep, validation } = await fit(trainer, { epochs, optimization: task.optimization });
  // A resumed training may have no epochs left.
  const found = validation ?? (await trainer.evaluate(model, { ...evaluation, loader: validationLoader }));
  const values = found as Record<string, number>;
  log(`parameters identical on ${rankCount(size)}: ${await verifyIdenticalParameters(model, group)}`);
  if (rank === 0 && settings.saveModel !== undefined) {
    await saveFile(settings.saveModel, task.exported(model));
    log(`model saved to ${settings.saveModel}`);
  }
  log(task.summary(values));
  const { seconds, perSecond } = throughput;
  return { model, values, ranks: size, steps: globalStep, seconds, perSecond, unit: throughput.unit };
}

function trainerOf<Model extends TrainableModule, Sample, Batch>(
  { settings, defaults: { unit }, trainer = {} }: Task<Model, Sample, Batch>,
  processGroup: ProcessGroup,
  ownCallbacks: readonly Callback[],
): Trainer {
  const { dir, profile, logPath } = settings;
  const { callbacks = [], maxSteps } = trainer;
  return new Trainer({
    ...trainer,
    ...(maxSteps === undefined && { maxEpochs: settings.epochs }),
    validationName: 'test',
    precision: settings.bf16 ? 'bf16' : 'float32',
    logEveryNSteps: settings.logInterval,
    callbacks: [...ownCallbacks, ...callbacks],
    ...(logPath !== undefined && { logger: new JsonLinesLogger({ path: logPath }) }),
    report: { unit, dir, profile },
    processGroup,
    resume: settings.resume,
    ...checkpointOf(settings),
  });
}

function checkpointOf({ output, checkpointInterval }: SharedSettings): Pick<TrainerOptions, 'checkpoint'> {
  if (output === undefined) return {};
  const everyNTrainSteps = checkpointInterval !== undefined && { everyNTrainSteps: checkpointInterval };
  return { checkpoint: { dir: output, ...everyNTrainSteps } };
}

function loadersOf<Sample, Batch>(
  {
    trainSet,
    validationSet,
    validationBatchSize,
    shuffle = true,
    collateFn,
    loader,
  }: TaskData<Sample, Batch>,
  { seed }: SharedSettings,
  batchSize: number,
  { rank, size }: ProcessGroup,
) {
  const shares = { numReplicas: size, rank };
  const collating = collateFn && { collateFn };
  const sampler = new DistributedSampler(trainSet, { ...shares, seed, shuffle });
  const trainLoader = new DataLoader<Sample, Batch>(trainSet, {
    batchSize,
    sampler,
    ...collating,
    ...loader,
  });
  // Evaluates every sample exactly once, without padding: shares differ by at most one sample.
  const validationSampler = new DistributedSampler(validationSet, {
    ...shares,
    shuffle: false,
    evenDivisible: false,
  });
  const validationLoader = new DataLoader<Sample, Batch>(validationSet, {
    batchSize: validationBatchSize,
    sampler: validationSampler,
    ...collating,
    ...(loader?.reuseMemory === true && { reuseMemory: true }),
  });
  return { trainLoader, validationLoader };
}
