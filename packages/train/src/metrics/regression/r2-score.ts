import {
  InvalidArgumentError,
  type OptionNames,
  requireChoice,
  requireInteger,
  requireOptions,
} from '@ringrun/core';
import type { Values } from '../input.ts';
import { Metric, type MetricOptions } from '../metric.ts';
import type { MetricState } from '../state.ts';
import { requireOutputs, rowsOf } from './outputs.ts';

/** Options of {@link R2Score}. */
export interface R2ScoreOptions extends MetricOptions {
  /** Number of outputs: predictions [N, outputs]. Default: 1, for [N]. */
  numOutputs?: number;
  /** Number of independent regressors, for the adjusted score. Default: 0, which does not adjust it. */
  adjusted?: number;
  /**
   * How several scores become one: their mean, the mean weighted by the variances of the targets, or the score of each
   * output. Default: 'uniformAverage'.
   */
  multioutput?: 'uniformAverage' | 'varianceWeighted' | 'rawValues';
}

const optionNames: OptionNames<R2ScoreOptions> = {
  numOutputs: true,
  adjusted: true,
  multioutput: true,
  processGroup: true,
};

/** Sums of squares at most this are 0, as in torchmetrics. */
const tolerance = 1e-4;

/** Number, or the score of each output with `multioutput: 'rawValues'`. */
export type R2Value<Options> =
  Options extends Readonly<Record<'multioutput', 'rawValues'>> ? Float64Array : number;

/**
 * The coefficient of determination, 1 - Σ(target - prediction)² / Σ(target - mean)² (torchmetrics.R2Score). A constant target
 * has the score 1 if it is predicted exactly, and otherwise 0.
 */
export class R2Score<const Options extends R2ScoreOptions = R2ScoreOptions> extends Metric<R2Value<Options>> {
  readonly #outputs: number;
  readonly #options: R2ScoreOptions;

  /** @throws InvalidArgumentError for an unknown option, or a number out of range */
  constructor(options: Options = {} as Options) {
    const who = 'R2Score';
    requireOptions(who, options, optionNames);
    const outputs = requireOutputs(who, options);
    requireInteger(options.adjusted ?? 0, { who, what: 'adjusted', min: 0 });
    const choices = ['uniformAverage', 'varianceWeighted', 'rawValues'];
    requireChoice(who, 'multioutput', options.multioutput ?? 'uniformAverage', choices);
    super({ sums: 3 * outputs + 1 }, options);
    this.#outputs = outputs;
    this.#options = options;
  }

  protected override measure(predictions: Values, target: Values): MetricState {
    const outputs = this.#outputs;
    const sums = new Float64Array(3 * outputs + 1);
    sums[3 * outputs] = rowsOf('R2Score.update', predictions, target, outputs);
    for (let at = 0; at < target.data.length; at += 1) {
      const [observed, residual] = [target.data[at], target.data[at] - predictions.data[at]];
      const place = 3 * (at % outputs);
      sums[place] += observed * observed;
      sums[place + 1] += observed;
      sums[place + 2] += residual * residual;
    }
    return { sums, lists: [] };
  }

  /** @throws InvalidArgumentError with fewer than two samples on all ranks */
  protected override valueOf({ sums }: MetricState): R2Value<Options> {
    const count = sums[3 * this.#outputs];
    if (count < 2)
      throw new InvalidArgumentError(
        `R2Score.compute: expected at least 2 samples on all ranks, got ${count}.`,
      );
    const variations = Float64Array.from({ length: this.#outputs }, (_, output) => {
      const [squares, sum] = sums.subarray(3 * output);
      return squares - (sum * sum) / count;
    });
    const scores = variations.map((total, output) => scoreOf(sums[3 * output + 2], total));
    const { adjusted = 0, multioutput = 'uniformAverage' } = this.#options;
    const isAdjustable = adjusted > 0 && adjusted < count - 1;
    const adjust = (score: number) =>
      isAdjustable ? 1 - ((1 - score) * (count - 1)) / (count - adjusted - 1) : score;
    if (multioutput === 'rawValues') return scores.map(adjust) as R2Value<Options>;
    const total = variations.reduce((sum, one) => sum + one, 0);
    const weightOf = (output: number) =>
      multioutput === 'uniformAverage' ? 1 / scores.length : variations[output] / total;
    return adjust(
      scores.reduce((sum, score, output) => sum + weightOf(output) * score, 0),
    ) as R2Value<Options>;
  }
}

function scoreOf(residual: number, total: number): number {
  if (residual <= tolerance) return 1;
  return Math.abs(total) <= tolerance ? 0 : 1 - residual / total;
}
