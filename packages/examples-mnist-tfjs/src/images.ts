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

/** Images [N, 28, 28, 1] and classes [N, 1], as `fitDataset` expects them. */
// A type, not an interface: only type aliases are assignable to tf's record of tensors.
export type Batch = { readonly [name in 'xs' | 'ys']: Tensor };

/** The first `count` samples. Default: all. */
export function firstOf(dataset: ImageDataset, count = Infinity): Dataset<ImageSample> {
  return { length: Math.min(count, dataset.length), at: (index) => dataset.at(index) };
}

type LoaderBatch = DataLoader<ImageSample> extends AsyncIterable<infer Each> ? Each : never;

/** With one channel, torch's [N, 1, 28, 28] and tf's [N, 28, 28, 1] have the same memory layout. */
export function tensorsOf(tf: TensorFlow, { image, label }: LoaderBatch): Batch {
  const count = label.data.length;
  const classes = Float32Array.from(label.data, Number);
  return { xs: tf.tensor4d(image.data, [count, 28, 28, 1]), ys: tf.tensor2d(classes, [count, 1]) };
}

export interface Quality {
  /** Mean over the test images. */
  loss: number;
  /** Fraction of the test images that are classified correctly, from 0 to 1. */
  accuracy: number;
}

/** Evaluates a compiled model on the test images of all ranks, each exactly once: shares differ by at most one image. */
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
