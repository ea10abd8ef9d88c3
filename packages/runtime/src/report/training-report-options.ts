import type { OptionNames, Output, ProcessGroup } from '@ringrun/core';

/** Options of {@link trainingReport}. */
export interface TrainingReportOptions {
  /** Number of samples per epoch, over all ranks. */
  samples: number;
  /** Total number of epochs, shown next to the current one. Default: not shown. */
  epochs?: number;
  /** Name of a sample in the output. Default: `'samples'`. */
  unit?: string;
  /** Number of steps between log lines and between points of TensorBoard's curves. Default: 10. */
  logInterval?: number;
  /** Folder for TensorBoard (`tensorboard --logdir <dir>`). Default: nothing is written. */
  dir?: string | URL | undefined;
  /**
   * File for a trace of all ranks, of 50 steps after the first 5; see `profile`. Default: nothing is
   * recorded.
   */
  profile?: string | URL | undefined;
  /** Stream for progress lines and the table. Default: standard output. */
  output?: Output;
  /** The ranks that train together. Default: the default group, or this process alone without one. */
  processGroup?: ProcessGroup;
  /** Number of steps before resuming, at which the curves continue. Default: 0. */
  stepsBefore?: number;
}

/** Progress within the epoch when resuming mid-epoch. */
export interface DoneBefore {
  /** Steps of this epoch that were completed. */
  steps: number;
  /** Of this rank. */
  samples: number;
}

/** A tensor of one element, such as a loss of `@ringrun/nn`. */
export interface LossTensor {
  /** Resolves with the element, once it is computed. */
  item(): Promise<number>;
}

/** The results of one step. */
export interface StepReport {
  /** A number, or a loss tensor after `backward`. It is read only in steps that are shown. */
  loss: number | LossTensor;
  /** Samples in this rank's batch. */
  samples: number;
  /** Learning rate, for TensorBoard. */
  lr?: number;
}

/** A parameter, for a histogram of its gradient. */
export interface ParameterWithGradient {
  /** The current gradient; undefined if there is none. */
  readonly grad: Iterable<number> | undefined;
}

/** A model, for histograms of its gradients. */
export interface ModelWithGradients {
  /** Names and parameters; a parameter without a gradient is skipped. */
  namedParameters(): Iterable<[string, ParameterWithGradient]>;
}

/** Names of the options of `trainingReport`. */
export const reportOptionNames: OptionNames<TrainingReportOptions> = {
  samples: true,
  epochs: true,
  unit: true,
  logInterval: true,
  dir: true,
  profile: true,
  output: true,
  processGroup: true,
  stepsBefore: true,
};
/** Names of the properties of a step's report. */
export const stepReportNames: OptionNames<StepReport> = { loss: true, samples: true, lr: true };
