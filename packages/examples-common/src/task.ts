import type { nn, Tensor } from '@ringrun/nn';
import type { ImageDataset } from 'ringrun';
import type { Settings } from './settings.ts';

/** Gives the logarithms of probabilities, [N, classes], of images, [N, …imageShape]. */
export type Classifier = nn.Module & { forward(images: Tensor): Tensor };

/** What is trained, on what, and how. */
export interface Task {
  settings: Settings;
  /** What the images are, for the line with the final accuracy. */
  dataTitle: string;
  trainSet: ImageDataset;
  testSet: ImageDataset;
  /** [channels, height, width] */
  imageShape: readonly number[];
  /** A model with its initial parameters, the same ones each time for one seed. */
  createModel(): Classifier;
}
