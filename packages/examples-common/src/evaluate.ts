import { noGrad, tensor } from '@ringrun/nn';
import { allReduce, type DataLoader, type ImageSample, type ProcessGroup } from 'ringrun';
import type { Classifier } from './task.ts';

export interface Quality {
  /** Mean over the test images. */
  loss: number;
  /** Fraction of the test images that are classified correctly, from 0 to 1. */
  accuracy: number;
}

/** Evaluates the model on the test images of all ranks, in evaluation mode. */
export async function evaluate(
  model: Classifier,
  images: DataLoader<ImageSample>,
  group: ProcessGroup,
): Promise<Quality> {
  const sums = new Float64Array(3);
  model.eval();
  for await (const { image, label } of images) {
    const scores = await noGrad(() => model.forward(tensor(image.data, image.shape))).array();
    addUp(sums, scores as Float32Array, label.data);
  }
  model.train();
  await allReduce(sums, { group });
  const [loss, right, count] = sums;
  return { loss: loss / count, accuracy: right / count };
}

/** Adds loss, correct predictions and count. `scores`: log probabilities, [N, classes]; `labels`: [N]. */
function addUp(sums: Float64Array, scores: Float32Array, labels: BigInt64Array): void {
  const classes = scores.length / labels.length;
  for (const [row, label] of labels.entries()) {
    const own = scores.subarray(row * classes, (row + 1) * classes);
    sums[0] -= own[Number(label)];
    sums[1] += Number(own.indexOf(Math.max(...own)) === Number(label));
    sums[2] += 1;
  }
}
