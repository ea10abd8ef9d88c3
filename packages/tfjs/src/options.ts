import type { CommHook, ProcessGroup } from 'ringrun';
import { TfjsError } from './errors.ts';
import type { AnyModel } from './tensorflow.ts';
import { requireOptions, type OptionNames } from './require-options.ts';

export interface DistributeOptions {
  /** Ranks that train together; the default group unless given. */
  processGroup?: ProcessGroup;
  /**
   * Whose variables are kept equal. Unless given, those that the optimizer is asked to train and, of the variables that are not trained (running means, frozen weights), all
   * that the process has at the first step; give it where a rank has further models of its own.
   */
  model?: AnyModel;
  /**
   * Every so many steps one is averaged and applied, with the mean of the gradients since the last one (Keras: gradient_accumulation_steps); 1 unless given. The others change no
   * variable. What has accumulated at the end of an epoch goes on in the next.
   */
  gradientAccumulationSteps?: number;
  /** Averages gradients instead of one all-reduce per bucket: one of ringrun's `commHooks`, such as `commHooks.fp16Compress`, or another with a `sync` form. */
  commHook?: CommHook;
  /** Size of a gradient bucket in MiB; 25 unless given. The first bucket has 1. */
  bucketCapMb?: number;
  /** Whether variables that a forward pass assigns (running means) become those of rank 0 after each step (torch's broadcast_buffers); true unless given. */
  broadcastBuffers?: boolean;
  /** Every so many steps the ranks compare a digest of the variables; 0: never. 1,000 unless given. */
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

/** @throws TfjsError `ERR_ARGUMENT` for what is no option */
export function requireDistributeOptions(options: unknown): void {
  requireOptions('distribute', options, optionNames);
}

/** @throws TfjsError `ERR_ARGUMENT` for what cannot work */
export function checkedAccumulation({ gradientAccumulationSteps: steps = 1 }: DistributeOptions): number {
  if (Number.isSafeInteger(steps) && steps >= 1) return steps;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `distribute: gradientAccumulationSteps must be a whole number from 1, got ${steps}.`,
  );
}
