import {
  InvalidArgumentError,
  type MembershipChange,
  type OptionNames,
  requireChoice,
  requireInteger,
  requireOptions,
} from '@ringrun/core';
import type { CompileStepOptions } from '@ringrun/nn';
import type {
  CheckpointerOptions,
  DiLoCoOptions,
  DistributedDataParallelOptions,
  ProcessGroup,
  TrainingReportOptions,
} from 'ringrun';
import type { Callback } from '../callbacks/callback.ts';
import type { Hyperparameters, Logger } from '../loggers/logger.ts';

/** Where and how often a training is saved, so that it can resume. */
export interface CheckpointOptions extends Pick<CheckpointerOptions, 'dir' | 'keep'> {
  /** Also save after this number of optimizer steps within an epoch. Default: only at the end of an epoch. */
  everyNTrainSteps?: number;
}

/** Settings of `trainingReport`, beside those that the Trainer knows. */
export type ReportOptions = Omit<
  Partial<TrainingReportOptions>,
  'epochs' | 'stepsBefore' | 'processGroup' | 'logInterval'
>;

/** Options of a {@link Trainer}. Names and defaults are Lightning's, except where it has none. */
export interface TrainerOptions {
  /** Number of epochs. Default: 1000, or no limit with `maxSteps`. */
  maxEpochs?: number;
  /** Number of optimizer steps. Default: no limit. */
  maxSteps?: number;
  /** Batches whose gradients are added before an optimizer step. Default: 1. */
  accumulateGradBatches?: number;
  /** Limit of the gradients. Default: none. */
  gradientClipVal?: number;
  /** 'norm': scale all gradients so that their norm is at most the limit; 'value': clamp each element. Default: 'norm'. */
  gradientClipAlgorithm?: 'norm' | 'value';
  /** 'bf16': products, convolutions and attention compute in bfloat16, as in `autocast`. Default: 'float32'. */
  precision?: 'float32' | 'bf16';
  /**
   * Compute a step in one run with `compileStep`, possibly with its options; the numbers are the same. Not with
   * `accumulateGradBatches` or `trainingStep`. Default: true.
   */
  compile?: boolean | Pick<CompileStepOptions, 'traceOnce' | 'copyInputs'>;
  /** Epochs between validations. Default: 1. */
  checkValEveryNEpoch?: number;
  /** Validate after this number of optimizer steps instead of at the end of an epoch. Default: at the end. */
  valCheckInterval?: number;
  /** Prefix of the names of a validation's values: 'val' for `val/loss`. Default: 'val'. */
  validationName?: string;
  /** Batches between progress lines and between training values of the loggers. Default: 50. */
  logEveryNSteps?: number;
  /** Called in this order. Default: none. */
  callbacks?: readonly Callback[];
  /** Receive results on rank 0. Default: none. */
  logger?: Logger | readonly Logger[];
  /** Settings of the training, for the loggers. Default: none. */
  hyperparameters?: Hyperparameters;
  /**
   * Save the training. Then SIGTERM and Ctrl-C save it once more and end it, with exit code 143 and 130. Default: not saved.
   */
  checkpoint?: CheckpointOptions;
  /** 'auto': continue the newest checkpoint of `checkpoint`, if there is one; or the path of a checkpoint. Default: start anew. */
  resume?: string | URL | undefined;
  /** Options of DistributedDataParallel, which wraps the model if a process group exists. Default: its defaults. */
  ddp?: Omit<
    DistributedDataParallelOptions,
    'processGroup' | 'faultTolerance' | 'minRanks' | 'onMembershipChange'
  >;
  /**
   * Wrap the model in DiLoCo instead, with these options: ranks exchange their parameters only now and then. Validations use the
   * parameters that the ranks have in common, and after the last step all ranks have the same. Default: undefined.
   */
  diloco?: Omit<DiLoCoOptions, 'processGroup' | 'faultTolerance' | 'minRanks' | 'onMembershipChange'>;
  /**
   * 'shrink': when a rank dies, the others repeat the step without it and continue in the same processes; a process that replaces it
   * receives the state of the training from a living rank and continues with the next step. For one model and one optimizer; not with
   * `trainingStep`, `accumulateGradBatches`, `diloco`, `processGroup` or `report.profile`, and for one `fit` in a process. SIGTERM
   * then ends a rank at once. Default: 'none': every rank throws `PeerDiedError`.
   */
  faultTolerance?: 'none' | 'shrink';
  /** With `faultTolerance: 'shrink'`: if fewer ranks are left, they throw `ERR_RECOVERY_FAILED`. Default: 1. */
  minRanks?: number;
  /** With `faultTolerance: 'shrink'`: called after ranks have died or joined. It must not throw, or call collectives. Default: none. */
  onMembershipChange?: (change: MembershipChange) => void;
  /** Options of `trainingReport`: TensorBoard, a trace, the name of a sample. Default: its defaults. */
  report?: ReportOptions;
  /** Print progress, the values of validations and the closing table. Default: true. */
  enableProgressBar?: boolean;
  /** The ranks that train together. Default: the default group, or this process alone without one. */
  processGroup?: ProcessGroup;
}

const optionNames: OptionNames<TrainerOptions> = {
  maxEpochs: true,
  maxSteps: true,
  accumulateGradBatches: true,
  gradientClipVal: true,
  gradientClipAlgorithm: true,
  precision: true,
  compile: true,
  checkValEveryNEpoch: true,
  valCheckInterval: true,
  validationName: true,
  logEveryNSteps: true,
  callbacks: true,
  logger: true,
  hyperparameters: true,
  checkpoint: true,
  resume: true,
  ddp: true,
  diloco: true,
  faultTolerance: true,
  minRanks: true,
  onMembershipChange: true,
  report: true,
  enableProgressBar: true,
  processGroup: true,
};
const checkpointNames: OptionNames<CheckpointOptions> = { dir: true, keep: true, everyNTrainSteps: true };

const counts = [
  'maxEpochs',
  'maxSteps',
  'accumulateGradBatches',
  'checkValEveryNEpoch',
  'valCheckInterval',
  'logEveryNSteps',
  'minRanks',
] as const;

/** @throws InvalidArgumentError for an unknown option, a number or a choice out of range, or options that contradict each other */
export function requireTrainerOptions(options: TrainerOptions): void {
  const who = 'Trainer';
  requireOptions(who, options, optionNames);
  for (const what of counts)
    if (options[what] !== undefined) requireInteger(options[what], { who, what, min: 1 });
  requireChoice(who, 'precision', options.precision ?? 'float32', ['float32', 'bf16']);
  requireChoice(who, 'gradientClipAlgorithm', options.gradientClipAlgorithm ?? 'norm', ['norm', 'value']);
  requireChoice(who, 'faultTolerance', options.faultTolerance ?? 'none', ['none', 'shrink']);
  const { gradientClipVal = 0, checkpoint, resume } = options;
  if (options.ddp && options.diloco)
    throw new InvalidArgumentError(
      `${who}: expected one of ddp and diloco, got both. Leave one of them out.`,
    );
  if (!(gradientClipVal >= 0)) {
    throw new InvalidArgumentError(
      `${who}: gradientClipVal: expected a number of at least 0, got ${gradientClipVal}.`,
    );
  }
  if (checkpoint) {
    requireOptions(`${who}: checkpoint`, checkpoint, checkpointNames);
    const what = 'checkpoint.everyNTrainSteps';
    if (checkpoint.everyNTrainSteps !== undefined)
      requireInteger(checkpoint.everyNTrainSteps, { who, what, min: 1 });
  } else if (resume === 'auto') {
    throw new InvalidArgumentError(
      `${who}: resume: expected a checkpoint folder for 'auto', got none. Add checkpoint: { dir }.`,
    );
  }
}
