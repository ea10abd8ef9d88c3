// One rank of mnist-tfjs-node.test.ts: see fixtures/run-scenario.ts.
import { distribute } from '@ringrun/tfjs';
import { createNet, loadTensorFlow, tensorsOf } from '@ringrun/examples-mnist-tfjs';
import type { Optimizer } from '@tensorflow/tfjs';
import {
  DataLoader,
  DistributedSampler,
  SequentialSampler,
  getWorldSize,
  loadMnist,
  type Sampler,
} from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';

const tf = await loadTensorFlow('@tensorflow/tfjs-node');
const images = await loadMnist({ split: 'train', location: process.env['MNIST']! });

/** The CNN, with the same weights in every process. */
function createModel(optimizer: Optimizer) {
  const model = createNet(tf);
  const weights = model.getWeights().map(({ shape }, i) => tf.randomNormal(shape, 0, 0.05, 'float32', i + 1));
  model.setWeights(weights);
  tf.dispose(weights);
  model.compile({ optimizer, loss: 'sparseCategoricalCrossentropy' });
  return model;
}

/** All weights after an epoch over the sampler's images. */
async function trained(optimizer: Optimizer, sampler: Sampler, batchSize: number) {
  const model = createModel(optimizer);
  for await (const batch of new DataLoader(images, { batchSize, sampler })) {
    const { xs, ys } = tensorsOf(tf, batch);
    await model.trainOnBatch(xs, ys);
    tf.dispose([xs, ys]);
  }
  return {
    backend: tf.getBackend(),
    weights: model.getWeights().flatMap((weight) => [...weight.dataSync()]),
  };
}

const momentum = () => tf.train.momentum(0.01, 0.5);

await runScenario(
  {
    distributed: () =>
      trained(
        distribute(momentum()),
        new DistributedSampler(images, { shuffle: false }),
        64 / getWorldSize(),
      ),
  },
  {
    alone: () => trained(momentum(), new SequentialSampler(images), 64),
    untrained: () =>
      createModel(momentum())
        .getWeights()
        .flatMap((weight) => [...weight.dataSync()]),
  },
);
