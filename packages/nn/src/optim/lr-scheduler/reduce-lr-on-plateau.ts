import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { aCount, aFiniteNumber, aListOf, aNumber, either, requireFields } from '../require-state.ts';
import { describeValue } from '../../checks/describe-value.ts';
import { ArgumentError } from '../../errors/errors.ts';
import type { Optimizer } from '../optimizer.ts';
import { requireAtLeastZero } from '../../checks/require-number.ts';
import { forEachGroup, requireOptimizer } from './lr-scheduler.ts';
import { requireOneOf } from '../../checks/require-one-of.ts';

/** Options of {@link ReduceLROnPlateau}. */
export interface ReduceLROnPlateauOptions {
  /** 'min': the metric should decrease; 'max': it should increase. Default: 'min'. */
  mode?: 'min' | 'max';
  /** Factor by which the rate is reduced, below 1. Default: 0.1. */
  factor?: number;
  /** Epochs without improvement that are tolerated. Default: 10. */
  patience?: number;
  /** Minimum improvement to count. Default: 0.0001. */
  threshold?: number;
  /** 'rel': `threshold` is a fraction of the best metric; 'abs': a difference. Default: 'rel'. */
  thresholdMode?: 'rel' | 'abs';
  /** Epochs after a reduction during which no epoch counts as bad. Default: 0. */
  cooldown?: number;
  /** Lowest rate, for all groups or per group. Default: 0. */
  minLr?: number | readonly number[];
  /** Minimum reduction; smaller ones are skipped. Default: 1e-8. */
  eps?: number;
}

/** Progress of a {@link ReduceLROnPlateau}, without its settings. */
export interface ReduceLROnPlateauState {
  /** Number of `step` calls. */
  lastEpoch: number;
  /** The best metric so far; null before the first `step`. */
  best: number | null;
  /** Bad epochs since the last improvement or reduction. */
  numBadEpochs: number;
  /** Remaining epochs of the cooldown. */
  cooldownCounter: number;
  /** Learning rate of each group after the last `step`. */
  lastLr: number[];
}

/**
 * Reduces the learning rates when a metric stops improving (torch.optim.lr_scheduler.ReduceLROnPlateau). With
 * several ranks, pass the same metric on each, such as an all-reduced mean; otherwise their rates diverge.
 */
export class ReduceLROnPlateau {
  /** The optimizer whose learning rates it sets. */
  readonly optimizer: Optimizer;
  readonly #settings: Required<Omit<ReduceLROnPlateauOptions, 'minLr'>>;
  readonly #minLrs: readonly number[];
  #state: ReduceLROnPlateauState;

  constructor(
    ...given: Call<
      [optimizer: Optimizer, options?: ReduceLROnPlateauOptions | undefined],
      'optim.lrScheduler.ReduceLROnPlateau'
    >
  ) {
    const [optimizer, options] = arranged('optim.lrScheduler.ReduceLROnPlateau', given);
    requireOptimizer('ReduceLROnPlateau', optimizer);

    const { mode = 'min', thresholdMode = 'rel', factor = 0.1, patience = 10 } = options;
    const { threshold = 1e-4, cooldown = 0, minLr = 0, eps = 1e-8 } = options;
    requireAtLeastZero('ReduceLROnPlateau', { factor, patience, threshold, cooldown, eps });
    requireOneOf('ReduceLROnPlateau', 'mode', mode, ['min', 'max']);
    requireOneOf('ReduceLROnPlateau', 'thresholdMode', thresholdMode, ['rel', 'abs']);
    if (factor >= 1) throw new ArgumentError(`ReduceLROnPlateau: factor must be below 1, got ${factor}.`);
    this.optimizer = optimizer;
    this.#minLrs = forEachGroup('ReduceLROnPlateau', optimizer, minLr);
    for (const lowest of this.#minLrs) requireAtLeastZero('ReduceLROnPlateau', { minLr: lowest });
    this.#settings = { mode, factor, patience, threshold, thresholdMode, cooldown, eps };
    const lastLr = optimizer.paramGroups.map(({ lr }) => lr);
    this.#state = { lastEpoch: 0, best: null, numBadEpochs: 0, cooldownCounter: 0, lastLr };
  }

  /**
   * Ends an epoch.
   *
   * @param metric such as the validation loss
   * @throws ArgumentError if it is not a number; nothing is changed in this case
   */
  step(metric: number): void {
    if (typeof metric !== 'number') {
      throw new ArgumentError(
        `ReduceLROnPlateau.step: expected a metric, got ${String(metric)}. Pass a number, such as await loss.item().`,
      );
    }
    const { patience, cooldown } = this.#settings;
    let { best, numBadEpochs, cooldownCounter } = this.#state;
    if (this.#isBetter(metric, best)) [best, numBadEpochs] = [metric, 0];
    else numBadEpochs += 1;
    if (cooldownCounter > 0) [cooldownCounter, numBadEpochs] = [cooldownCounter - 1, 0];
    if (numBadEpochs > patience) {
      this.#reduce();
      [cooldownCounter, numBadEpochs] = [cooldown, 0];
    }
    const lastLr = this.optimizer.paramGroups.map(({ lr }) => lr);
    this.#state = { lastEpoch: this.#state.lastEpoch + 1, best, numBadEpochs, cooldownCounter, lastLr };
  }

  /** Learning rates after the last `step`, one per group. */
  getLastLr(): number[] {
    return [...this.#state.lastLr];
  }

  /** Returns a copy of the progress, for `loadStateDict`. */
  stateDict(): ReduceLROnPlateauState {
    return structuredClone(this.#state);
  }

  /**
   * Restores a state from `stateDict`. Does not change the optimizer's rates.
   *
   * @throws ArgumentError if the number of groups differs; nothing is changed in this case
   */
  loadStateDict(state: ReduceLROnPlateauState): void {
    const lastLr = (state as Partial<ReduceLROnPlateauState> | null)?.lastLr;
    const fits = Array.isArray(lastLr) && lastLr.length === this.#minLrs.length;
    if (!fits || !Number.isInteger(state.lastEpoch)) {
      throw new ArgumentError(
        `ReduceLROnPlateau: expected a state { lastEpoch, best, numBadEpochs, cooldownCounter, lastLr } with a rate for each of the ${this.#minLrs.length} groups, got ${describeValue(state)}.`,
      );
    }
    requireFields('ReduceLROnPlateau', state, {
      lastEpoch: aCount,
      best: either(aNumber, null),
      numBadEpochs: aCount,
      cooldownCounter: aCount,
      lastLr: aListOf(aFiniteNumber, this.#minLrs.length),
    });
    this.#state = structuredClone(state);
  }

  #isBetter(metric: number, best: number | null): boolean {
    const { mode, thresholdMode, threshold } = this.#settings;
    if (best === null) return !Number.isNaN(metric);
    const margin = thresholdMode === 'rel' ? best * threshold : threshold;
    return mode === 'min' ? metric < best - margin : metric > best + margin;
  }

  #reduce(): void {
    const { factor, eps } = this.#settings;
    for (const [position, group] of this.optimizer.paramGroups.entries()) {
      const lr = Math.max(group.lr * factor, this.#minLrs[position]);
      if (group.lr - lr > eps) group.lr = lr;
    }
  }
}
