import { precisionOf } from './mixed-precision.ts';
import { F, compileStep, exportOnnx, manualSeed, tensor, type Tensor } from '@ringrun/nn';
import {
  Checkpointer,
  DataLoader,
  DistributedDataParallel,
  DistributedSampler,
  barrier,
  trainingReport,
  verifyIdenticalParameters,
  type ProcessGroup,
} from 'ringrun';
import { effectiveBatch, learningRate } from './effective-batch.ts';
import { evaluate, type Quality } from './evaluate.ts';
import { optimizationOf } from './optimization.ts';
import { saveFile } from './saved-file.ts';
import type { Classifier, Task } from './task.ts';

export interface Outcome extends Quality {
  ranks: number;
  /** Per rank. */
  steps: number;
  /** Training time, without evaluation; the same on all ranks. */
  seconds: number;
  imagesPerSecond: number;
}

/** Trains on the ranks of a group. Every rank of the group must call it; rank 0 prints the log. */
export async function train(task: Task, group: ProcessGroup): Promise<Outcome> {
  const { settings, trainSet } = task;
  const { rank, size } = group;
  const log = (line: string) => {
    if (rank === 0) console.log(line);
  };
  const batch = effectiveBatch(settings, size);
  const { sampler, trainLoader, testLoader } = loadersOf(task, batch.perRank, group);

  manualSeed(settings.seed);
  const model = new DistributedDataParallel(task.createModel(), { processGroup: group });
  const length = { stepsPerEpoch: trainLoader.length, epochs: settings.epochs };
  const lr = learningRate(settings, batch.global);
  const { optimizer, scheduler } = optimizationOf(model.module, lr, length, settings);
  const lossOf = (images: Tensor, labels: Tensor) => F.nllLoss(model.forward(images), labels);
  const trainStep = compileStep(optimizer, lossOf, {
    traceOnce: true,
    copyInputs: false,
    ...precisionOf(settings),
  });
  // Random numbers after initialization (dropout) differ between ranks.
  manualSeed(settings.seed + rank);

  const checkpoints = checkpointerOf(settings.output, group);
  checkpoints?.register({ model, optimizer, loader: trainLoader, ...(scheduler && { scheduler }) });
  const resumed = await checkpoints?.resume(settings.resume);
  if (resumed) log(`resumed from ${resumed.path}: step ${resumed.step}, epoch ${resumed.epoch + 1}`);
  let { step, epoch } = resumed ?? { step: 0, epoch: 0 };

  const report = await trainingReport({
    samples: trainSet.length,
    epochs: settings.epochs,
    unit: 'images',
    logInterval: settings.logInterval,
    dir: settings.dir,
    profile: settings.profile,
    processGroup: group,
    stepsBefore: step,
  });
  let [seconds, images] = [0, 0];
  let quality = await qualityOf(step > 0 && epoch >= settings.epochs);
  for (; epoch < settings.epochs; epoch += 1) {
    sampler.setEpoch(epoch);
    seconds += await timed(group, trainEpoch);
    // Batch normalization evaluates with rank 0's running statistics on every rank.
    model.syncBuffers();
    quality = await evaluate(model.module, testLoader, group);
    if (settings.histograms) report.addGradients(model);
    report.addScalar('test/loss', quality.loss, step);
    report.addScalar('test/accuracy', quality.accuracy, step);
    log(`\naccuracy=${quality.accuracy.toFixed(4)}\tloss=${quality.loss.toFixed(4)}\n`);
    await checkpoints?.save({ step, epoch: epoch + 1 });
  }
  await checkpoints?.finished();
  const imagesPerSecond = seconds === 0 ? 0 : images / seconds;
  log(`${imagesPerSecond.toFixed(0)} images/s on ${counted(size)} (${seconds.toFixed(2)} s of training)`);
  await report.end();
  log(`parameters identical on ${counted(size)}: ${await verifyIdenticalParameters(model, group)}`);
  if (rank === 0) await saveModel(model.module, task);
  log(`accuracy ${quality.accuracy.toFixed(4)} on ${task.dataTitle}`);
  return { ranks: size, steps: step, seconds, imagesPerSecond, ...quality };

  async function trainEpoch(): Promise<void> {
    // Not 0 when resuming mid-epoch.
    let made = step - epoch * trainLoader.length;
    const before = { steps: made, samples: made * batch.perRank };
    for await (const { image, label } of report.epoch(epoch + 1, trainLoader, before)) {
      const loss = await trainStep(tensor(image.data, image.shape), tensor(label.data));
      await report.step({ loss, samples: label.data.length, lr: optimizer.paramGroups[0].lr });
      scheduler?.step();
      images += label.data.length * size;
      made += 1;
      step += 1;
      const isDue = settings.checkpointInterval !== undefined && step % settings.checkpointInterval === 0;
      if (made === trainLoader.length) continue; // Saved after the evaluation.
      if (isDue) await checkpoints?.save({ step, epoch });
      await checkpoints?.saveIfPreempted({ step, epoch });
    }
  }

  /** Evaluates a resumed training that has no epochs left. */
  async function qualityOf(hasEnded: boolean): Promise<Quality> {
    return hasEnded ? evaluate(model.module, testLoader, group) : { loss: NaN, accuracy: NaN };
  }
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
  return { sampler, trainLoader, testLoader };
}

function checkpointerOf(dir: string | undefined, processGroup: ProcessGroup): Checkpointer | undefined {
  return dir === undefined ? undefined : new Checkpointer({ dir, processGroup });
}

/** Seconds until every rank has finished the work. */
async function timed(group: ProcessGroup, work: () => Promise<void>): Promise<number> {
  await barrier({ group });
  const start = performance.now();
  await work();
  await barrier({ group });
  return (performance.now() - start) / 1000;
}

async function saveModel(model: Classifier, { settings, imageShape }: Task): Promise<void> {
  if (settings.saveModel === undefined) return;
  await saveFile(settings.saveModel, exportOnnx(model, { inputShape: [1, ...imageShape] }));
  console.log(`model saved to ${settings.saveModel}`);
}

function counted(ranks: number): string {
  return ranks === 1 ? '1 rank' : `${ranks} ranks`;
}
