import { F, exportOnnx, manualSeed } from '@ringrun/nn';
import { Accuracy, Trainer } from '@ringrun/train';
import {
  DataLoader,
  DistributedDataParallel,
  DistributedSampler,
  verifyIdenticalParameters,
  type ProcessGroup,
} from 'ringrun';
import { Throughput, counted, gradientHistograms } from './callbacks.ts';
import { effectiveBatch, learningRate } from './effective-batch.ts';
import { optimizationOf } from './optimization.ts';
import { saveFile } from './saved-file.ts';
import type { Settings } from './settings.ts';
import type { Classifier, Task } from './task.ts';

/** Results of a training, on the test images of all ranks. */
export interface Outcome {
  /** Mean over the test images. */
  loss: number;
  /** Fraction of the test images that are classified correctly, from 0 to 1. */
  accuracy: number;
  ranks: number;
  /** Per rank. */
  steps: number;
  /** Training time, without evaluation; the same on all ranks. */
  seconds: number;
  imagesPerSecond: number;
}

/** Trains on the ranks of a group. Every rank of the group must call it; rank 0 prints the log. */
export async function train(task: Task, group: ProcessGroup): Promise<Outcome> {
  const { settings } = task;
  const { rank, size } = group;
  const log = (line: string) => {
    if (rank === 0) console.log(line);
  };
  const batch = effectiveBatch(settings, size);
  const { trainLoader, testLoader } = loadersOf(task, batch.perRank, group);

  manualSeed(settings.seed);
  const model = new DistributedDataParallel(task.createModel(), { processGroup: group });
  const length = { stepsPerEpoch: trainLoader.length, epochs: settings.epochs };
  const lr = learningRate(settings, batch.global);
  const { optimizer, scheduler } = optimizationOf(model.module, lr, length, settings);
  // Random numbers after initialization (dropout) differ between ranks.
  manualSeed(settings.seed + rank);

  const throughput = new Throughput(group);
  const trainer = trainerOf(settings, group, throughput);
  const evaluation = {
    loss: F.nllLoss,
    metrics: {
      accuracy: new Accuracy({ task: 'multiclass', numClasses: task.classes, processGroup: group }),
    },
  };
  const { globalStep, validation } = await trainer.fit(model, {
    ...evaluation,
    trainLoader,
    validationLoader: testLoader,
    optimizer,
    ...(scheduler && { scheduler: { scheduler, interval: 'step' } as const }),
  });
  // A resumed training may have no epochs left.
  const found = validation ?? (await trainer.evaluate(model, { ...evaluation, loader: testLoader }));
  const { accuracy, loss } = found as Record<'accuracy' | 'loss', number>;
  log(`parameters identical on ${counted(size)}: ${await verifyIdenticalParameters(model, group)}`);
  if (rank === 0) await saveModel(model.module, task);
  log(`accuracy ${accuracy.toFixed(4)} on ${task.dataTitle}`);
  const { seconds, imagesPerSecond } = throughput;
  return { ranks: size, steps: globalStep, seconds, imagesPerSecond, accuracy, loss };
}

function trainerOf(settings: Settings, processGroup: ProcessGroup, throughput: Throughput): Trainer {
  const { output, checkpointInterval, dir, profile } = settings;
  const checkpoint = output !== undefined && {
    checkpoint: {
      dir: output,
      ...(checkpointInterval !== undefined && { everyNTrainSteps: checkpointInterval }),
    },
    resume: settings.resume,
  };
  return new Trainer({
    maxEpochs: settings.epochs,
    compile: { traceOnce: true, copyInputs: false },
    precision: settings.bf16 ? 'bf16' : 'float32',
    validationName: 'test',
    logEveryNSteps: settings.logInterval,
    callbacks: [throughput, ...(settings.histograms ? [gradientHistograms] : [])],
    report: { unit: 'images', dir, profile },
    processGroup,
    ...checkpoint,
  });
}

function loadersOf({ settings, trainSet, testSet }: Task, batchSize: number, { rank, size }: ProcessGroup) {
  const { seed, workers, testBatchSize } = settings;
  const shares = { numReplicas: size, rank };
  const sampler = new DistributedSampler(trainSet, { ...shares, seed });
  const threads = { numWorkers: workers, persistentWorkers: workers > 0 };
  // A batch is no longer read when the next one is requested.
  const reuseMemory = true;
  const trainLoader = new DataLoader(trainSet, { batchSize, sampler, reuseMemory, ...threads });
  // Evaluates every test image exactly once, without padding: shares differ by at most one image.
  const testSampler = new DistributedSampler(testSet, { ...shares, shuffle: false, evenDivisible: false });
  const testLoader = new DataLoader(testSet, { batchSize: testBatchSize, sampler: testSampler, reuseMemory });
  return { trainLoader, testLoader };
}

async function saveModel(model: Classifier, { settings, imageShape }: Task): Promise<void> {
  if (settings.saveModel === undefined) return;
  await saveFile(settings.saveModel, exportOnnx(model, { inputShape: [1, ...imageShape] }));
  console.log(`model saved to ${settings.saveModel}`);
}
