import type { EvaluationOptions, TrainableModule, TrainerOptions } from '@ringrun/train';
import type { DataLoaderOptions, Dataset } from 'ringrun';
import type { Optimization, TrainingLength } from './optimization.ts';
import type { SharedDefaults, SharedSettings } from './shared-options.ts';

/** The model, data and settings of one training. */
export interface Task<Model extends TrainableModule, Sample, Batch> {
  readonly settings: SharedSettings;
  /** Name of a sample, and the batch for which the learning rate is meant. */
  readonly defaults: Pick<SharedDefaults<never>, 'unit' | 'batch'>;
  readonly data: TaskData<Sample, Batch>;
  /** Returns a new model. The seed determines its initial parameters. */
  readonly createModel: () => Model | Promise<Model>;
  readonly optimization: (model: Model, lr: number, length: TrainingLength) => Optimization;
  /** A training before the other one, with an optimizer of its own, such as of a new head on a frozen body. Default: none. */
  readonly first?: FirstPhase<Model>;
  /** Loss and metrics, of which the validation prints the values. */
  readonly evaluation: EvaluationOptions<Model, Batch>;
  /** Settings of the Trainer that are the example's own. */
  readonly trainer?: Pick<
    TrainerOptions,
    'callbacks' | 'compile' | 'diloco' | 'gradientClipVal' | 'maxSteps'
  >;
  /** What the rate counts. Default: the samples. */
  readonly rate?: Rate<Batch>;
  /** The model in ONNX format, for `--save-model`. */
  readonly exported: (model: Model) => Uint8Array;
  /** The last line of a training. */
  readonly summary: (values: Readonly<Record<string, number>>) => string;
  /** Called on rank 0 after the process group is destroyed, so that no rank waits for it. */
  readonly afterwards?: (model: Model) => Promise<void>;
}

/**
 * The first of two trainings of one model. Its checkpoints are in a folder of its own inside `--output`, and it writes no logs, so
 * that steps are counted once.
 */
export interface FirstPhase<Model> {
  /** Folder of the checkpoints: 'frozen'. A checkpoint in a folder of this name resumes this phase. */
  readonly name: string;
  readonly epochs: number;
  /** Called before this training. */
  readonly begin: (model: Model) => void;
  /** Called before the other training, even if this one is over. */
  readonly end: (model: Model) => void;
  readonly optimization: (model: Model, lr: number, length: TrainingLength) => Optimization;
}

/** The samples of a training, and how batches are made of them. */
export interface TaskData<Sample, Batch> {
  readonly trainSet: Dataset<Sample>;
  /** Each sample is evaluated exactly once. */
  readonly validationSet: Dataset<Sample>;
  /** Per rank. */
  readonly validationBatchSize: number;
  /** Visit the training samples in a new random order in each epoch. Default: true. */
  readonly shuffle?: boolean;
  readonly collateFn?: (samples: Sample[]) => Batch;
  /** More options of the loader of the training samples. */
  readonly loader?: Pick<
    DataLoaderOptions<Sample, Batch>,
    'dropLast' | 'numWorkers' | 'persistentWorkers' | 'reuseMemory'
  >;
}

/** A quantity whose rate is printed. */
export interface Rate<Batch> {
  /** Its name: 'tokens'. */
  readonly unit: string;
  /** Its amount in a batch of one rank. */
  readonly count: (batch: Batch) => number;
}
