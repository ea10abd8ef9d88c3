import type { ProcessGroup } from '@ringrun/core';
import { TfjsError } from '../errors.ts';
import { requireGroup } from '../ringrun.ts';
import { callback, type FitCallback } from './callback.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Options of {@link learningRateScaling}. */
export interface LearningRateScalingOptions {
  /** Factor of the learning rate. Default: the number of ranks. */
  factor?: number;
  /** Steps of linear warmup to the scaled rate. Default: 0. */
  warmupSteps?: number;
  /** The ranks whose number is the default factor. Default: the default group. */
  processGroup?: ProcessGroup;
}

const optionNames: OptionNames<LearningRateScalingOptions> = {
  factor: true,
  warmupSteps: true,
  processGroup: true,
};

/** Base rate and steps so far. An optimizer is scaled only once; after the warmup its rate is not touched. */
const scaled = new WeakMap<object, { base: number; step: number }>();

/**
 * Multiplies the learning rate by the number of ranks: the linear scaling rule with gradual warmup (Goyal et al., "Accurate,
 * Large Minibatch SGD", 2017; Horovod: LearningRateWarmupCallback). The optimizer keeps the scaled rate after training.
 *
 * @param optimizer an optimizer with a number `learningRate`, as those of tf.train
 * @throws TfjsError `ERR_ARGUMENT` for an optimizer without a number `learningRate` and for invalid options;
 *   `ERR_NOT_INITIALIZED` without a process group
 */
export function learningRateScaling(
  optimizer: object,
  options: LearningRateScalingOptions = {},
): FitCallback {
  requireOptions('learningRateScaling', options, optionNames);
  const { warmupSteps = 0 } = options;
  const { factor = requireGroup('learningRateScaling', options.processGroup).size } = options;
  requireNumbers({ factor, warmupSteps });
  requireRate(optimizer);
  return callback({
    onBatchBegin() {
      const state = scaled.get(optimizer) ?? { base: requireRate(optimizer), step: 0 };
      scaled.set(optimizer, state);
      const { base, step } = state;
      if (step <= warmupSteps) setRate(optimizer, scaledRate(base, { factor, step, warmupSteps }));
      state.step += 1;
      return Promise.resolve();
    },
  });
}

/** @param step from 0 */
export function scaledRate(
  base: number,
  { factor, step, warmupSteps }: { factor: number; step: number; warmupSteps: number },
): number {
  const risen = warmupSteps === 0 ? 1 : Math.min(1, step / warmupSteps);
  return base * (1 + (factor - 1) * risen);
}

interface WithRate {
  learningRate?: unknown;
  setLearningRate?: (rate: number) => void;
}

function requireRate(optimizer: object): number {
  const { learningRate } = optimizer as WithRate;
  if (typeof learningRate === 'number') return learningRate;
  throw new TfjsError(
    'ERR_ARGUMENT',
    'learningRateScaling: expected an optimizer with a number `learningRate`, such as those of tf.train. For other optimizers, set the rate yourself.',
  );
}

/** SGD and momentum also keep the rate as a tensor, which setLearningRate updates. */
function setRate(optimizer: WithRate, rate: number): void {
  if (optimizer.setLearningRate === undefined) optimizer.learningRate = rate;
  else optimizer.setLearningRate(rate);
}

function requireNumbers({ factor, warmupSteps }: { factor: number; warmupSteps: number }): void {
  if (factor > 0 && Number.isFinite(factor) && Number.isSafeInteger(warmupSteps) && warmupSteps >= 0) return;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `learningRateScaling: expected a factor above 0 and warmupSteps from 0, got ${factor} and ${warmupSteps}.`,
  );
}
