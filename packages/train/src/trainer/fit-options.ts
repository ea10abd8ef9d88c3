import type { optim, Tensor } from '@ringrun/nn';
import type { DiLoCo, DistributedDataParallel } from 'ringrun';
import type { MetricInput } from '../metrics/input.ts';
import type { TrainableModule } from '../trainable-module.ts';
import type { MetricCollection, PredictionMetric } from '../metrics/metric-collection.ts';

/** A model, or several by name, such as `{ generator, discriminator }`. */
export type Models = TrainableModule | Readonly<Record<string, TrainableModule>>;

/** A model as a training calls it: wrapped in DistributedDataParallel if a process group exists. */
export type Wrapped<M extends Models> = M extends TrainableModule
  ? Pick<M, 'forward'>
  : { readonly [Name in keyof M]: M[Name] extends TrainableModule ? Pick<M[Name], 'forward'> : never };

/** What `forward` of a model returns. */
export type OutputOf<M extends Models> = M extends TrainableModule ? ReturnType<M['forward']> : unknown;

/** The inputs of `forward`, and the target last. */
export type InputsAndTarget = readonly [...inputs: Tensor[], target: Tensor];

/** Batches of this rank, such as a `DataLoader`. */
export type Loader<Batch> = (Iterable<Batch> | AsyncIterable<Batch>) & {
  /** Number of batches in an epoch. */
  readonly length: number;
};

/** A learning rate scheduler of `@ringrun/nn`. */
export type Scheduler =
  optim.lrScheduler.LRScheduler | optim.lrScheduler.SequentialLR | optim.lrScheduler.ReduceLROnPlateau;

/** A scheduler, and when it is stepped (Lightning: lr_scheduler_config). */
export interface SchedulerConfig {
  /** The scheduler. */
  scheduler: Scheduler;
  /** Step it after each epoch, or after each optimizer step. Default: 'epoch'. */
  interval?: 'epoch' | 'step';
  /** Epochs or steps between two steps. Default: 1. */
  frequency?: number;
  /** The metric of a `ReduceLROnPlateau`. Default: the loss of the validation, such as `val/loss`. */
  monitor?: string;
}

/** What a step of your own receives beside the batch. */
export interface StepContext<M extends Models> {
  /** The model or models; call `forward` of them. */
  readonly model: Wrapped<M>;
  /** The optimizers by name; one alone has the name `optimizer`. */
  readonly optimizers: Readonly<Record<string, optim.Optimizer>>;
  /** Number of completed steps. */
  readonly globalStep: number;
  /** The epoch, from 0. */
  readonly currentEpoch: number;
  /** Index of the batch in its epoch, from 0. */
  readonly batchIndex: number;
}

/** A loss: a tensor after `backward`, or a number. */
export type LossValue = Tensor | number;

/** What a validation step of your own returns. */
export interface ValidationResult {
  /** A mean over the samples of the batch. Default: no loss. */
  loss?: LossValue;
  /** For the metrics, with `target`. */
  predictions?: MetricInput;
  /** For the metrics, with `predictions`. */
  target?: MetricInput;
  /** Number of samples, the weight of the loss. Default: the first dimension of the target. */
  samples?: number;
}

/** How a model is evaluated: options of {@link Trainer.evaluate}, and part of those of {@link Trainer.fit}. */
export interface EvaluationOptions<M extends Models, Batch> {
  /**
   * Makes tensors of a batch: the inputs of `forward`, and the target last. Default: the fields of the batch in their order,
   * so the last one is the target, as in `{ image, label }` and `[x, y]`.
   */
  inputs?: (batch: Batch) => InputsAndTarget;
  /** The loss of an output of `forward` and a target, a mean over the batch: `F.crossEntropy`. */
  loss?: (output: OutputOf<M>, target: Tensor) => Tensor;
  /**
   * The loss of a batch, instead of `inputs` and `loss`: for several targets, inputs that are no tensors, or several models with
   * one optimizer (Lightning: training_step). Not asynchronous. Returns the loss, a mean over the batch, or tensors by name: the
   * first is minimized, and loggers receive all of them. A validation without `validationStep` evaluates the first.
   *
   * @param model the model, or the models by name; call `forward` of them
   */
  batchLoss?: (batch: Batch, model: Wrapped<M>) => Tensor | Readonly<Record<string, Tensor>>;
  /**
   * Evaluates a batch instead of `inputs` and `loss`. Called inside `noGrad`, so it is not asynchronous.
   *
   * @param model the model in evaluation mode
   */
  validationStep?: (batch: Batch, model: Wrapped<M>) => ValidationResult;
  /** Metrics of predictions and targets, by name. Default: none. */
  metrics?:
    Readonly<Record<string, PredictionMetric>> | MetricCollection<Readonly<Record<string, PredictionMetric>>>;
  /** The predictions for the metrics. Default: the output of `forward`. */
  predictions?: (output: OutputOf<M>) => MetricInput;
}

/** Options of {@link Trainer.evaluate}. */
export interface EvaluateOptions<M extends Models, Batch> extends EvaluationOptions<M, Batch> {
  /** This rank's share of the samples. */
  loader: Iterable<Batch> | AsyncIterable<Batch>;
}

/** Options of {@link Trainer.fit}. */
export interface FitOptions<M extends Models, Batch, ValidationBatch = Batch> extends EvaluationOptions<
  M,
  Batch & ValidationBatch
> {
  /** This rank's share of the training samples. */
  trainLoader: Loader<Batch>;
  /** This rank's share of the validation samples; ranks may have different numbers. Default: no validation. */
  validationLoader?: Iterable<ValidationBatch> | AsyncIterable<ValidationBatch>;
  /** The optimizer, or several by name for `trainingStep`. */
  optimizer: optim.Optimizer | Readonly<Record<string, optim.Optimizer>>;
  /** Schedulers. One without settings is stepped after each epoch. Default: none. */
  scheduler?: Scheduler | SchedulerConfig | readonly (Scheduler | SchedulerConfig)[];
  /**
   * A whole step of your own, for several optimizers: it calls `zeroGrad`, `backward` and `step` (Lightning: manual optimization).
   * Returns the loss, or values by name, of which the first is shown. All ranks must make the same steps.
   */
  trainingStep?: (
    batch: Batch,
    context: StepContext<M>,
  ) => Promise<LossValue | Readonly<Record<string, LossValue>>>;
}

/** What {@link Trainer.fit} resolves with. */
export interface FitResult {
  /** Number of optimizer steps, including those before resuming. */
  readonly globalStep: number;
  /** Number of completed epochs. */
  readonly epochs: number;
  /** Values of the last validation by name without prefix, such as `loss`; undefined if there was none. */
  readonly validation: Readonly<Record<string, unknown>> | undefined;
  /** Whether a callback has ended the training. */
  readonly stoppedEarly: boolean;
}

/** What the trainer wraps. */
export type AnyWrapped = Wrapper | TrainableModule;

/** A module and the ranks that train it together. */
export type Wrapper = DistributedDataParallel<TrainableModule> | DiLoCo<TrainableModule>;
