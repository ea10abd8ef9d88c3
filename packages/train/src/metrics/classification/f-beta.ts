import { InvalidArgumentError } from '@ringrun/core';
import { StatScoresMetric, divided, type Counts } from './stat-scores.ts';
import { checkedZeroDivision, zeroDivisionName, type PrecisionRecallOptions } from './precision-recall.ts';

/** Options of {@link FBetaScore}. */
export type FBetaOptions = PrecisionRecallOptions & {
  /** Weight of the recall, above 0. Default: 1. */
  beta?: number;
};

/**
 * Tasks, shapes and averages as {@link Accuracy}: the weighted harmonic mean of precision and recall,
 * (1 + β²)·tp / ((1 + β²)·tp + β²·fn + fp) (torchmetrics.FBetaScore).
 */
export class FBetaScore<const Options extends FBetaOptions = FBetaOptions> extends StatScoresMetric<Options> {
  readonly #zeroDivision: 0 | 1;
  readonly #beta2: number;

  /**
   * @param options the task and its settings
   * @param more names of further options
   */
  constructor(options: Options, more: Readonly<Record<string, true>> = { beta: true }) {
    const who = new.target.name;
    super(options, { ...zeroDivisionName, ...more });
    this.#zeroDivision = checkedZeroDivision(who, options);
    const { beta = 1 } = options;
    if (!(beta > 0)) throw new InvalidArgumentError(`${who}: beta: expected a number above 0, got ${beta}.`);
    this.#beta2 = beta * beta;
  }

  /** torchmetrics makes no difference for `top_k` here, unlike in its other metrics. */
  protected override get countsPredicted(): boolean {
    return true;
  }

  protected override score({ tp, fp, fn }: Counts): number {
    const hits = (1 + this.#beta2) * tp;
    return divided(hits, hits + this.#beta2 * fn + fp, this.#zeroDivision);
  }
}

/** {@link FBetaScore} with β = 1: 2·tp / (2·tp + fn + fp) (torchmetrics.F1Score). */
export class F1Score<
  const Options extends PrecisionRecallOptions = PrecisionRecallOptions,
> extends FBetaScore<Options> {
  constructor(options: Options) {
    super(options, {});
  }
}
