import type { Tensor } from '@tensorflow/tfjs';
import {
  DataLoader,
  DistributedSampler,
  allReduce,
  type Dataset,
  type ImageDataset,
  type ImageSample,
} from 'ringrun';
import type { TensorFlow } from './tensorflow.ts';

/** Images [N, 28, 28, 1] and classes [N, 1], as `fitDataset` takes them. */
// No interface: tf takes records of tensors, which only a type is.
export type Batch = { readonly [name in 'xs' | 'ys']: Tensor };

/** The first `count` samples, or all. */
export function firstOf(dataset: ImageDataset, count = Infinity): Dataset<ImageSample> {
  return { length: Math.min(count, dataset.length), at: (index) => dataset.at(index) };
}

type LoaderBatch = DataLoader<ImageSample> extends AsyncIterable<infer Each> ? Each : never;

/** With one channel, torch's [N, 1, 28, 28] has the order of tf's [N, 28, 28, 1]. */
export function tensorsOf(tf: TensorFlow, { image, label }: LoaderBatch): Batch {
  const count = label.data.length;
  const classes = Float32Array.from(label.data, Number);
  return { xs: tf.tensor4d(image.data, [count, 28, 28, 1]), ys: tf.tensor2d(classes, [count, 1]) };
}

export interface Quality {
  /** Mean over the test images. */
  loss: number;
  /** Share of the test images whose class is found. */
  accuracy: number;
}

/** What a compiled model makes of all ranks' test images: each is seen once, so that the ranks' shares differ by one at most. */
export async function evaluate(
  tf: TensorFlow,
  model: ReturnType<TensorFlow['sequential']>,
  images: Dataset<ImageSample>,
  batchSize: number,
): Promise<Quality> {
  const sums = new Float64Array(3);
  const sampler = new DistributedSampler(images, { shuffle: false, evenDivisible: false });
  for await (const batch of new DataLoader(images, { batchSize, sampler })) {
    const { xs, ys } = tensorsOf(tf, batch);
    const scores = model.evaluate(xs, ys, { batchSize }) as Tensor[];
    const [loss, accuracy] = scores.map((score) => score.dataSync()[0]);
    const count = batch.label.data.length;
    for (const [i, value] of [loss, accuracy, 1].entries()) sums[i] += value * count;
    tf.dispose([xs, ys, scores]);
  }
  await allReduce(sums);
  const [loss, right, count] = sums;
  return { loss: loss / count, accuracy: right / count };
}
