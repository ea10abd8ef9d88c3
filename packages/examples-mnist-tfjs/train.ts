// The CNN of Kubeflow's MNIST example in TensorFlow.js: model.fitDataset trains on every rank's share of the images.
//
//   1 process:    node launch packages/examples-mnist-tfjs/train.ts
//   2 processes:  node launch --nproc 2 packages/examples-mnist-tfjs/train.ts
//   2 hosts:      on both: export WORLD_SIZE=2 MASTER_ADDR=first MASTER_PORT=29500
//                 on the host named first: RANK=0 node --import ringrun/typescript packages/examples-mnist-tfjs/train.ts
//                 on the other host:       RANK=1 node --import ringrun/typescript packages/examples-mnist-tfjs/train.ts
//   native:       npm install @tensorflow/tfjs-node, or node scripts/build-tfjs-node.js where its download fails; then add
//                 --tf @tensorflow/tfjs-node
//                 (one GPU per process: @tensorflow/tfjs-node-gpu)
//
// @tensorflow/tfjs computes in plain JavaScript: about 3 s per 8 images, so its default is 640 images (2 minutes).
// All options: node launch packages/examples-mnist-tfjs/train.ts --help

import { distribute, folder, learningRateScaling, modelCheckpoint, moduleOf } from '@ringrun/tfjs';
import {
  createNet,
  evaluate,
  firstOf,
  isPlain,
  loadTensorFlow,
  openCheckpoints,
  parseSettings,
  tensorsOf,
} from '@ringrun/examples-mnist-tfjs';
import {
  DataLoader,
  DistributedSampler,
  barrier,
  commHooks,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
  loadMnist,
  openStorage,
  prepareMnist,
  trainingReport,
  verifyIdenticalParameters,
} from 'ringrun';

const settings = parseSettings();
const tf = await loadTensorFlow(settings.tf);
await initProcessGroup({ backend: settings.backend });
const [rank, size] = [getRank(), getWorldSize()];
const log = (line: string) => {
  if (rank === 0) console.log(line);
};

const { location, title } = await prepareMnist({ location: settings.data, synthetic: settings.synthetic });
const usual = isPlain(tf)
  ? { batch: 8, train: 640, test: 200 }
  : { batch: 64, train: Infinity, test: Infinity };
const { batchSize = usual.batch, trainImages = usual.train, testImages = usual.test } = settings;
const trainSet = firstOf(await loadMnist({ split: 'train', location }), trainImages);
const testSet = firstOf(await loadMnist({ split: 'test', location }), testImages);
const sampler = new DistributedSampler(trainSet, { seed: settings.seed });
const loader = new DataLoader(trainSet, { batchSize, sampler });

const model = createNet(tf);
const optimizer = distribute(tf.train.momentum(settings.lr, settings.momentum), {
  ...(settings.fp16 && { commHook: commHooks.fp16Compress }),
});
model.compile({ optimizer, loss: 'sparseCategoricalCrossentropy', metrics: ['accuracy'] });
const checkpoints = await openCheckpoints(settings, { tf, model, optimizer, loader });
const initialEpoch = checkpoints.epochs;

const { epochs, logInterval, dir, profile } = settings;
const report = await trainingReport({
  samples: trainSet.length,
  epochs,
  unit: 'images',
  logInterval,
  dir,
  profile,
  stepsBefore: initialEpoch * loader.length,
});
let [epoch, images, seconds, finalAccuracy] = [initialEpoch, 0, 0, NaN];

/** The batches of one epoch; fitDataset calls this once per epoch. */
async function* batches() {
  epoch += 1;
  await barrier();
  const start = performance.now();
  for await (const batch of report.epoch(epoch, loader)) yield tensorsOf(tf, batch);
  await barrier();
  seconds += (performance.now() - start) / 1000;
}

// tf.data and tf.layers declare the class Dataset and an enum twice, so TypeScript treats them as different types.
/* eslint-disable @typescript-eslint/no-unsafe-class-instance-assignment, @typescript-eslint/no-unsafe-enum-assignment */
await model.fitDataset(tf.data.generator(batches), {
  epochs,
  initialEpoch,
  verbose: 0,
  callbacks: [
    {
      onBatchEnd: async (_: number, logs?: Record<string, number>) => {
        const { loss, size: samples } = logs!;
        images += samples * size;
        await report.step({ loss, samples });
      },
      onEpochEnd: async () => {
        const { accuracy, loss } = await evaluate(tf, model, testSet, batchSize);
        finalAccuracy = accuracy;
        log(`\naccuracy=${accuracy.toFixed(4)}\tloss=${loss.toFixed(4)}\n`);
        await checkpoints.save(epoch);
      },
    },
    ...(settings.scaleLr ? [learningRateScaling(optimizer)] : []),
    ...(settings.saveModel === undefined
      ? []
      : [modelCheckpoint(model, folder(openStorage(settings.saveModel)))]),
  ],
});

// A resumed training may have no epochs left.
if (initialEpoch >= epochs) finalAccuracy = (await evaluate(tf, model, testSet, batchSize)).accuracy;
const ranks = size === 1 ? '1 rank' : `${size} ranks`;
const rate = seconds === 0 ? 0 : images / seconds;
log(`${rate.toFixed(0)} images/s on ${ranks} (${seconds.toFixed(2)} s of training)`);
await checkpoints.finished();
await report.end();
log(`parameters identical on ${ranks}: ${await verifyIdenticalParameters(moduleOf(model))}`);
if (settings.saveModel !== undefined) log(`model saved to ${settings.saveModel}`);
log(`accuracy ${finalAccuracy.toFixed(4)} on ${title}`);
await destroyProcessGroup();
