import { F, exportOnnx, type nn, type Tensor } from '@ringrun/nn';
import type { ImageDataset, ImageSample } from 'ringrun';
import { gradientHistograms } from './callbacks.ts';
import { classification } from './classification.ts';
import { optimizationOf } from './optimization.ts';
import { imageDefaults, type Settings } from './settings.ts';
import type { Task } from './task.ts';

/** Maps images [N, …imageShape] to log probabilities [N, classes]. */
export type Classifier = nn.Module & { forward(images: Tensor): Tensor };

/** A classification of images. */
export interface ImageTaskParts {
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

/** The task of training a classifier of images with the options of `parseSettings`. */
export function imageTask(settings: Settings, parts: ImageTaskParts): Task<Classifier, ImageSample, unknown> {
  const { trainSet, testSet, classes, imageShape, dataTitle } = parts;
  const { workers: numWorkers, testBatchSize: validationBatchSize, histograms } = settings;
  return {
    settings,
    defaults: imageDefaults,
    data: {
      trainSet,
      validationSet: testSet,
      validationBatchSize,
      // A batch is no longer read when the next one is requested.
      loader: { reuseMemory: true, numWorkers, persistentWorkers: numWorkers > 0 },
    },
    createModel: () => parts.createModel(),
    optimization: (model, lr, length) => optimizationOf(model, lr, length, settings),
    evaluation: classification(F.nllLoss, classes),
    trainer: {
      compile: { traceOnce: true, copyInputs: false },
      callbacks: histograms ? [gradientHistograms] : [],
    },
    exported: (model) => exportOnnx(model, { inputShape: [1, ...imageShape] }),
    summary: ({ accuracy }) => `accuracy ${accuracy.toFixed(4)} on ${dataTitle}`,
  };
}
