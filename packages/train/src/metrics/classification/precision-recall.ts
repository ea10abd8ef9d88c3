import { InvalidArgumentError } from '@ringrun/core';
import { StatScoresMetric, divided, type Counts, type StatScoresOptions } from './stat-scores.ts';

/** Options of {@link Precision} and {@link Recall}. */
export type PrecisionRecallOptions = StatScoresOptions & {
  /** The value of a class whose denominator is 0: 0 or 1. Default: 0. */
  zeroDivision?: 0 | 1;
};

/** Names of {@link PrecisionRecallOptions} beside those of all tasks. */
export const zeroDivisionName = { zeroDivision: true } as const;

/** @throws InvalidArgumentError unless it is 0 or 1 */
export function checkedZeroDivision(who: string, { zeroDivision = 0 }: PrecisionRecallOptions): 0 | 1 {
  if (([0, 1] as unknown[]).includes(zeroDivision)) return zeroDivision;
  throw new InvalidArgumentError(`${who}: zeroDivision: expected 0 or 1, got ${String(zeroDivision)}.`);
}

/** Tasks, shapes and averages as {@link Accuracy}: tp / (tp + fp), the fraction of predictions that are right (torchmetrics.Precision). */
export class Precision<
  const Options extends PrecisionRecallOptions = PrecisionRecallOptions,
> extends StatScoresMetric<Options> {
  readonly #zeroDivision: 0 | 1;

  constructor(options: Options) {
    super(options, zeroDivisionName);
    this.#zeroDivision = checkedZeroDivision('Precision', options);
  }

  protected override score({ tp, fp }: Counts): number {
    return divided(tp, tp + fp, this.#zeroDivision);
  }
}

/** Tasks, shapes and averages as {@link Accuracy}: tp / (tp + fn), the fraction of samples that are found (torchmetrics.Recall). */
export class Recall<
  const Options extends PrecisionRecallOptions = PrecisionRecallOptions,
> extends StatScoresMetric<Options> {
  readonly #zeroDivision: 0 | 1;

  constructor(options: Options) {
    super(options, zeroDivisionName);
    this.#zeroDivision = checkedZeroDivision('Recall', options);
  }

  protected override score({ tp, fn }: Counts): number {
    return divided(tp, tp + fn, this.#zeroDivision);
  }
}
