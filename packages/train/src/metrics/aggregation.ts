import { InvalidArgumentError, type OptionNames, requireChoice, requireOptions } from '@ringrun/core';
import type { MetricInput, Values } from './input.ts';
import { Metric, type MetricOptions } from './metric.ts';
import type { MetricState } from './state.ts';

/** Options of {@link MeanMetric} and {@link SumMetric}. */
export interface AggregationOptions extends MetricOptions {
  /**
   * What to do with NaN: 'error' throws; 'warn' leaves it out, and prints a line the first time; 'ignore' leaves it out; a
   * number replaces it. Default: 'warn'.
   */
  nanStrategy?: 'error' | 'warn' | 'ignore' | number;
}

const optionNames: OptionNames<AggregationOptions> = { nanStrategy: true, processGroup: true };

/** Sums of values and of their weights. */
abstract class Aggregation<Inputs extends readonly unknown[]> extends Metric<number, Inputs> {
  readonly #nanStrategy: 'error' | 'warn' | 'ignore' | number;
  #hasWarned = false;

  /** @throws InvalidArgumentError for an unknown option or strategy */
  constructor(options: AggregationOptions = {}) {
    const who = new.target.name;
    requireOptions(who, options, optionNames);
    const { nanStrategy = 'warn' } = options;
    if (typeof nanStrategy !== 'number')
      requireChoice(who, 'nanStrategy', nanStrategy, ['error', 'warn', 'ignore']);
    super({ sums: 2 }, options);
    this.#nanStrategy = nanStrategy;
  }

  protected override measure(value: Values, weight: Values = one): MetricState {
    requireWeight(`${this.constructor.name}.update`, value, weight);
    const sums = new Float64Array(2);
    for (let at = 0; at < value.data.length; at += 1) {
      const [given, ofGiven] = [value.data[at], weight.data[weight.data.length === 1 ? 0 : at]];
      const isMissing = Number.isNaN(given) || Number.isNaN(ofGiven);
      if (isMissing && this.#leavesOut()) continue;
      const [number, factor] = isMissing ? [this.#nanStrategy as number, 1] : [given, ofGiven];
      sums[0] += number * factor;
      sums[1] += factor;
    }
    return { sums, lists: [] };
  }

  #leavesOut(): boolean {
    const strategy = this.#nanStrategy;
    if (typeof strategy === 'number') return false;
    const who = `${this.constructor.name}.update`;
    if (strategy === 'error')
      throw new InvalidArgumentError(`${who}: expected numbers, got NaN (nanStrategy: 'error').`);
    if (strategy === 'warn' && !this.#hasWarned) {
      process.stderr.write(`ringrun: ${who}: NaN is left out. nanStrategy: 'ignore' hides this line.\n`);
      this.#hasWarned = true;
    }
    return true;
  }
}

/** The weighted mean of numbers (torchmetrics.MeanMetric). NaN without values. */
export class MeanMetric extends Aggregation<[value: number | MetricInput, weight?: number | MetricInput]> {
  protected override valueOf({ sums }: MetricState): number {
    return sums[0] / sums[1];
  }
}

/** The sum of numbers (torchmetrics.SumMetric). 0 without values. */
export class SumMetric extends Aggregation<[value: number | MetricInput]> {
  protected override valueOf({ sums }: MetricState): number {
    return sums[0];
  }
}

const one: Values = { data: [1], shape: [], isFloat: true };

function requireWeight(who: string, value: Values, weight: Values): void {
  if (weight.data.length === 1 || weight.shape.join() === value.shape.join()) return;
  throw new InvalidArgumentError(
    `${who}: weight: expected a number, or shape [${value.shape.join(', ')}] of the values, got [${weight.shape.join(', ')}].`,
  );
}
