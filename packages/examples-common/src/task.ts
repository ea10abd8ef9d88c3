import type { nn, Tensor } from '@ringrun/nn';
import type { ImageDataset } from 'ringrun';
import type { Settings } from './settings.ts';

/** Maps images [N, …imageShape] to log probabilities [N, classes]. */
export type Classifier = nn.Module & { forward(images: Tensor): Tensor };

/** The model, data and settings of one training. */
export interface Task {
  settings: Settings;
  /** Name of the dataset, printed with the final accuracy. */
  dataTitle: string;
  trainSet: ImageDataset;
  testSet: ImageDataset;
  /** Number of classes. */
  classes: number;
  /** [channels, height, width] */
  imageShape: readonly number[];
  /** Returns a new model. The seed determines its initial parameters. */
  createModel(): Classifier;
}
