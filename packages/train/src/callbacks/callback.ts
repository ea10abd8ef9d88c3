import type { optim } from '@ringrun/nn';
import type { LossTensor, TrainingReport } from 'ringrun';
import type { TrainableModule } from '../trainable-module.ts';

/** Values of a validation by name, such as `val/loss` and `val/accuracy`; the same on all ranks. */
export type MetricsByName = Readonly<Record<string, unknown>>;

/** A training that is running, as callbacks see it. */
export interface TrainingContext {
  /** Number of optimizer steps that were completed, including those before resuming (Lightning: global_step). */
  readonly globalStep: number;
  /** The epoch that is running, from 0 (Lightning: current_epoch). */
  readonly currentEpoch: number;
  /** The last values by name (Lightning: callback_metrics). The same on all ranks, except for `train/` within an epoch. */
  readonly metrics: MetricsByName;
  /** The model, without DistributedDataParallel; models by name if several are trained. */
  readonly modules: Readonly<Record<string, TrainableModule>>;
  /** The optimizers by name; one alone has the name `optimizer`. */
  readonly optimizers: Readonly<Record<string, optim.Optimizer>>;
  /** The report on the training, for scalars and histograms of your own. */
  readonly report: TrainingReport;
  /** True on rank 0, and without a process group (Lightning: is_global_zero). */
  readonly isGlobalZero: boolean;
  /** Set it to true to end the training after this validation or epoch. One rank is enough (Lightning: should_stop). */
  shouldStop: boolean;
  /** Prints a line on rank 0. */
  readonly log: (line: string) => void;
  /**
   * Saves the training in a folder of its own, or below `s3://bucket/prefix`, and waits until it is written. A collective, to be
   * called in `onCheckpoint`. `resume: dir` of a Trainer continues there. The folder keeps its last checkpoint (Lightning:
   * Trainer.save_checkpoint).
   *
   * @throws InvalidArgumentError outside of `onCheckpoint`; CheckpointError, on every rank, if it cannot be written
   */
  saveCheckpoint(dir: string | URL): Promise<void>;
}

/** A batch that was trained. */
export interface TrainedBatch {
  /** The batch of the loader, valid during the call. */
  readonly batch: unknown;
  /** Number of this rank's samples in the batch. */
  readonly samples: number;
  /** The loss of this rank. */
  readonly loss: number | LossTensor;
  /** Index of the batch in its epoch, from 0. */
  readonly batchIndex: number;
}

/**
 * Functions that the training calls on every rank, in the order of the list (Lightning: Callback). The training waits for a
 * promise. A hook that is a collective must be one on every rank.
 */
export interface Callback {
  /** The metric that the callback reads, such as `train/loss`, whose mean over an epoch is computed only if it is needed. */
  readonly monitor?: string | undefined;
  /** Before the first step, after a checkpoint was resumed. */
  onFitStart?(training: TrainingContext): unknown;
  /** Before the first batch of an epoch. */
  onEpochStart?(training: TrainingContext): unknown;
  /** After each batch, and after the optimizer's step if it ends with one. */
  onTrainBatchEnd?(training: TrainingContext, trained: TrainedBatch): unknown;
  /** Before a validation. */
  onValidationStart?(training: TrainingContext): unknown;
  /** After a validation, with its values; before schedulers that monitor them. */
  onValidationEnd?(training: TrainingContext, metrics: MetricsByName): unknown;
  /** After an epoch, its validation and its schedulers, before the checkpoint is saved. */
  onEpochEnd?(training: TrainingContext): unknown;
  /** When the training may be saved with `saveCheckpoint`: after an epoch, and after a validation within one. */
  onCheckpoint?(training: TrainingContext): unknown;
  /** After a checkpoint was copied for writing. */
  onSave?(training: TrainingContext): unknown;
  /** At the end, before the closing table. */
  onFitEnd?(training: TrainingContext): unknown;
  /** After an error that ends the training. Not a place for collectives. */
  onException?(training: TrainingContext, error: unknown): unknown;
  /** What a checkpoint keeps: plain values, the same on all ranks. */
  stateDict?(): unknown;
  /** Restores a state before `onFitStart`. */
  loadStateDict?(state: never): unknown;
}

/** Names of the hooks. */
export type Hook = Exclude<keyof Callback, 'monitor' | 'stateDict' | 'loadStateDict'>;

/** Calls a hook of all callbacks, one after another. */
export async function callAll<Name extends Hook>(
  callbacks: readonly Callback[],
  hook: Name,
  ...args: Parameters<NonNullable<Callback[Name]>>
): Promise<void> {
  for (const callback of callbacks)
    await (callback[hook] as ((...all: typeof args) => unknown) | undefined)?.call(callback, ...args);
}
