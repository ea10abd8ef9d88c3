import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { CommHook, OptionNames } from '@ringrun/core';
import { inBothForms } from './comm-hook.ts';
import type { PowerSgdSettings } from './power-sgd-bucket.ts';
import { PowerSgdBuckets } from './power-sgd-buckets.ts';

/** Names and defaults are those of torch's PowerSGDState. They must be the same on every rank. */
export interface PowerSgdOptions {
  /** Rank r of the approximation. A higher r is more accurate and sends r times the bytes. Default: 1. */
  matrixApproximationRank?: number;
  /**
   * Number of initial steps that are averaged exactly, because gradients change fast at first. Default:
   * 1,000.
   */
  startPowerSgdIter?: number;
  /** A gradient is compressed only if that makes it smaller by more than this factor. Default: 2. */
  minCompressionRate?: number;
  /** Add the approximation error of a step to the next step's gradient. Default: `true`. */
  useErrorFeedback?: boolean;
  /** Start each approximation from the previous step's factors. Default: `true`. */
  warmStart?: boolean;
  /** Seed of the initial factors. Default: 0. */
  randomSeed?: number;
}

const optionNames: OptionNames<PowerSgdOptions> = {
  matrixApproximationRank: true,
  startPowerSgdIter: true,
  minCompressionRate: true,
  useErrorFeedback: true,
  warmStart: true,
  randomSeed: true,
};

/**
 * Averages gradients as products of two thin matrices (PowerSGD, Vogels et al. 2019; torch: powerSGD_hook). A
 * gradient of shape [n, …] is a matrix M [n, m], for which (n + m)·r numbers are sent instead of n·m: P =
 * M·Q, averaged and orthonormalized; Q = Mᵀ·P, averaged; the result is P·Qᵀ, one step of power iteration
 * towards the r largest singular vectors of the average. Gradients that would not shrink by
 * `minCompressionRate`, such as those of biases, are averaged exactly.
 *
 * The factors are computed by the addon on the calling thread: see docs/performance.md. Create one hook
 * per model.
 *
 * Its `state` has the number of steps and the factors Q, and its `rankState` the error feedback. With `faultTolerance:
 * 'shrink'`, the error feedback of a dead rank is lost, and a process that joins begins with an error of 0.
 *
 * @throws InvalidArgumentError for an option out of range
 */
export function powerSgd(options: PowerSgdOptions = {}): CommHook {
  const buckets = new PowerSgdBuckets(checkedSettings(options));
  const hook = inBothForms((bucket, _, average) => buckets.of(bucket).steps(bucket, average));
  return Object.assign(hook, { state: buckets.state, rankState: buckets.rankState });
}

function checkedSettings(options: PowerSgdOptions): PowerSgdSettings {
  requireOptions('powerSgd', options, optionNames);
  const settings: PowerSgdSettings = {
    matrixApproximationRank: 1,
    startPowerSgdIter: 1000,
    minCompressionRate: 2,
    useErrorFeedback: true,
    warmStart: true,
    randomSeed: 0,
    ...options,
  };
  const { matrixApproximationRank, startPowerSgdIter, minCompressionRate, randomSeed } = settings;
  const least = { matrixApproximationRank: 1, startPowerSgdIter: 0, randomSeed: 0 };
  for (const [name, value] of Object.entries({ matrixApproximationRank, startPowerSgdIter, randomSeed })) {
    const lowest = least[name as keyof typeof least];
    if (!Number.isSafeInteger(value) || value < lowest) {
      throw new InvalidArgumentError(
        `powerSgd: ${name}: expected an integer of at least ${lowest}, got ${value}.`,
      );
    }
  }
  if (!(minCompressionRate > 0)) {
    throw new InvalidArgumentError(
      `powerSgd: minCompressionRate: expected a number above 0, got ${minCompressionRate}.`,
    );
  }
  return settings;
}
