import { type OptionNames, requireChoice, requireInteger, requireOptions } from '@ringrun/core';
import type { Callback, MetricsByName, TrainingContext } from './callback.ts';
import { isBetter, monitored, type Mode } from './monitored.ts';

/** Options of {@link EarlyStopping}. */
export interface EarlyStoppingOptions {
  /** Name of the metric, such as `val/loss`. */
  monitor: string;
  /** Whether a lower or a higher value is better. Default: 'min'. */
  mode?: Mode;
  /** Validations without improvement after which the training ends. Default: 3. */
  patience?: number;
  /** An improvement is larger than this. Default: 0. */
  minDelta?: number;
  /** End the training if the metric is NaN or infinite. Default: true. */
  checkFinite?: boolean;
}

/** Progress of an {@link EarlyStopping}. */
export interface EarlyStoppingState {
  /** Validations without improvement. */
  wait: number;
  /** The best value, if there is one. */
  best?: number;
}

const optionNames: OptionNames<EarlyStoppingOptions> = {
  monitor: true,
  mode: true,
  patience: true,
  minDelta: true,
  checkFinite: true,
};

/**
 * Ends a training when a metric of the validation stops improving (Lightning: EarlyStopping). Metrics are the same on all ranks, and
 * so is the decision.
 */
export class EarlyStopping implements Callback {
  /** Name of the metric. */
  readonly monitor: string;
  readonly #settings: Required<Omit<EarlyStoppingOptions, 'monitor'>>;
  #state: EarlyStoppingState = { wait: 0 };

  /** @throws InvalidArgumentError for an unknown option or mode, or a patience below 0 */
  constructor(options: EarlyStoppingOptions) {
    const who = 'EarlyStopping';
    requireOptions(who, options, optionNames);
    const { monitor, mode = 'min', patience = 3, minDelta = 0, checkFinite = true } = options;
    requireChoice(who, 'mode', mode, ['min', 'max']);
    requireInteger(patience, { who, what: 'patience', min: 0 });
    this.monitor = monitor;
    this.#settings = { mode, patience, minDelta, checkFinite };
  }

  /** The best value so far (Lightning: best_score). */
  get bestScore(): number | undefined {
    return this.#state.best;
  }

  /** Compares the metric, and ends the training. */
  onValidationEnd(training: TrainingContext, metrics: MetricsByName): void {
    const { mode, patience, minDelta, checkFinite } = this.#settings;
    const value = monitored('EarlyStopping', metrics, this.monitor);
    if (checkFinite && !Number.isFinite(value)) {
      training.log(`stops early: ${this.monitor} is ${value}`);
      training.shouldStop = true;
      return;
    }
    const { wait, best } = this.#state;
    if (isBetter(value, best, mode, minDelta)) {
      this.#state = { wait: 0, best: value };
      return;
    }
    this.#state.wait = wait + 1;
    if (wait + 1 < patience) return;
    training.log(
      `stops early: ${this.monitor} did not improve in ${wait + 1} validations; best: ${best ?? 'none'}`,
    );
    training.shouldStop = true;
  }

  /** A copy of the progress. */
  stateDict(): EarlyStoppingState {
    return { ...this.#state };
  }

  /** Restores a state of `stateDict`. */
  loadStateDict(state: EarlyStoppingState): void {
    this.#state = { ...state };
  }
}
