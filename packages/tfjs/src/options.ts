import type { CommHook, ProcessGroup } from '@ringrun/core';
import { TfjsError } from './errors.ts';
import type { AnyModel } from './tensorflow.ts';
import { requireOptions, type OptionNames } from './require-options.ts';

/** Options of {@link distribute}, the same on all ranks. */
export interface DistributeOptions {
  /** Ranks that train together. Default: the default group. */
  processGroup?: ProcessGroup;
  /**
   * Model whose variables are kept equal. Default: the variables that the optimizer trains, and all untrained variables
   * (running means, frozen weights) of the process at the first step. Set it if a rank has additional models.
   */
  model?: AnyModel;
  /**
   * Number of steps whose mean gradient is averaged over ranks and applied (Keras: gradient_accumulation_steps). The steps
   * in between change no variable. Accumulation continues across epochs. Default: 1.
   */
  gradientAccumulationSteps?: number;
  /** Replaces the all-reduce of each bucket: one of ringrun's `commHooks`, or a hook with a `sync` form. */
  commHook?: CommHook;
  /** Size of a gradient bucket in MiB; the first bucket has 1 MiB. Default: 25. */
  bucketCapMb?: number;
  /** If true, broadcasts variables that a forward pass assigns (running means) from rank 0 after each step. Default: true. */
  broadcastBuffers?: boolean;
  /** Steps between comparisons of the variables' digest across ranks; 0: never. Default: 1,000. */
  verifyEvery?: number;
}

const optionNames: OptionNames<DistributeOptions> = {
  processGroup: true,
  model: true,
  gradientAccumulationSteps: true,
  commHook: true,
  bucketCapMb: true,
  broadcastBuffers: true,
  verifyEvery: true,
};

/** @throws TfjsError `ERR_ARGUMENT` for unknown options */
export function requireDistributeOptions(options: unknown): void {
  requireOptions('distribute', options, optionNames);
}

/** @throws TfjsError `ERR_ARGUMENT` for an invalid number of steps */
export function checkedAccumulation({ gradientAccumulationSteps: steps = 1 }: DistributeOptions): number {
  if (Number.isSafeInteger(steps) && steps >= 1) return steps;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `distribute: gradientAccumulationSteps must be a whole number from 1, got ${steps}.`,
  );
}
