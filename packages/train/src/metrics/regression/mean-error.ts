import { requireOptions, type OptionNames } from '@ringrun/core';
import type { Values } from '../input.ts';
import { Metric } from '../metric.ts';
import type { MetricState } from '../state.ts';
import { requireOutputs, rowsOf, type OfOutputs, type OutputsOptions } from './outputs.ts';

/** Options of {@link MeanSquaredError}. */
export interface MeanSquaredErrorOptions extends OutputsOptions {
  /** False: the root of the mean (RMSE). Default: true. */
  squared?: boolean;
}

const outputsNames: OptionNames<OutputsOptions> = { numOutputs: true, processGroup: true };

/** The mean of a function of the errors. Sums: one for each output, and the number of samples. */
abstract class MeanError<Options extends OutputsOptions> extends Metric<OfOutputs<Options>> {
  readonly #outputs: number;
  readonly #isOfOutputs: boolean;

  constructor(who: string, options: Options, names: Readonly<Record<string, true>>) {
    requireOptions(who, options, names);
    const outputs = requireOutputs(who, options);
    super({ sums: outputs + 1 }, options);
    this.#outputs = outputs;
    this.#isOfOutputs = options.numOutputs !== undefined;
  }

  /** What a difference of prediction and target adds to the sum. */
  protected abstract errorOf(difference: number): number;

  /** The value of a sum over `count` samples. */
  protected meanOf(sum: number, count: number): number {
    return sum / count;
  }

  protected override measure(predictions: Values, target: Values): MetricState {
    const [who, outputs] = [`${this.constructor.name}.update`, this.#outputs];
    const sums = new Float64Array(outputs + 1);
    sums[outputs] = rowsOf(who, predictions, target, this.#isOfOutputs ? outputs : undefined);
    for (let at = 0; at < target.data.length; at += 1)
      sums[at % outputs] += this.errorOf(predictions.data[at] - target.data[at]);
    return { sums, lists: [] };
  }

  protected override valueOf({ sums }: MetricState): OfOutputs<Options> {
    const count = sums[this.#outputs];
    const means = sums.slice(0, -1).map((sum) => this.meanOf(sum, count));
    return (this.#isOfOutputs ? means : means[0]) as OfOutputs<Options>;
  }
}

/**
 * The mean of (prediction - target)² (torchmetrics.MeanSquaredError); with `squared: false` its root, RMSE. Predictions and
 * targets have one shape. NaN without samples.
 */
export class MeanSquaredError<
  const Options extends MeanSquaredErrorOptions = MeanSquaredErrorOptions,
> extends MeanError<Options> {
  readonly #squared: boolean;

  /** @throws InvalidArgumentError for an unknown option, or `numOutputs` below 1 */
  constructor(options: Options = {} as Options) {
    super('MeanSquaredError', options, { ...outputsNames, squared: true });
    this.#squared = options.squared ?? true;
  }

  protected override errorOf(difference: number): number {
    return difference * difference;
  }

  protected override meanOf(sum: number, count: number): number {
    return this.#squared ? sum / count : Math.sqrt(sum / count);
  }
}

/** The mean of |prediction - target| (torchmetrics.MeanAbsoluteError). Predictions and targets have one shape. NaN without samples. */
export class MeanAbsoluteError<
  const Options extends OutputsOptions = OutputsOptions,
> extends MeanError<Options> {
  /** @throws InvalidArgumentError for an unknown option, or `numOutputs` below 1 */
  constructor(options: Options = {} as Options) {
    super('MeanAbsoluteError', options, outputsNames);
  }

  protected override errorOf(difference: number): number {
    return Math.abs(difference);
  }
}
