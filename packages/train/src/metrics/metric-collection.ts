import { InvalidArgumentError, requireOptions, type OptionNames } from '@ringrun/core';
import { Metric, type ComputeOptions, type MetricOptions } from './metric.ts';
import { valuesOf, type MetricInput } from './input.ts';
import { currentGroup, overRanks } from './state.ts';

/** A metric of predictions and targets. */
export type PredictionMetric = Metric<unknown>;

/** Options of {@link MetricCollection}. */
export interface MetricCollectionOptions<Prefix extends string = string> extends MetricOptions {
  /** Text before each name in the result, such as `'val/'`. Default: none. */
  prefix?: Prefix;
}

/** The values of a collection, by name. */
export type CollectionValues<Metrics, Prefix extends string> = {
  [Name in keyof Metrics & string as `${Prefix}${Name}`]: Metrics[Name] extends Metric<infer Value>
    ? Value
    : never;
};

const optionNames: OptionNames<MetricCollectionOptions> = { prefix: true, processGroup: true };

/**
 * Metrics of the same predictions and targets (torchmetrics.MetricCollection). Tensors are read once, and one all-reduce adds
 * the sums of all metrics.
 *
 * ```ts
 * const metrics = new MetricCollection({
 *   accuracy: new Accuracy({ task: 'multiclass', numClasses: 10 }),
 *   auroc: new AUROC({ task: 'multiclass', numClasses: 10, thresholds: 100 }),
 * });
 * ```
 */
export class MetricCollection<
  Metrics extends Readonly<Record<string, PredictionMetric>>,
  Prefix extends string = '',
> {
  /** The metrics by name, without the prefix. */
  readonly metrics: Metrics;
  readonly #prefix: string;
  readonly #options: MetricOptions;

  /** @throws InvalidArgumentError if a value is not a metric */
  constructor(metrics: Metrics, options: MetricCollectionOptions<Prefix> = {}) {
    requireOptions('MetricCollection', options, optionNames);
    for (const [name, metric] of Object.entries<unknown>(metrics)) {
      if (metric instanceof Metric) continue;
      throw new InvalidArgumentError(`MetricCollection: ${name}: expected a metric, got ${typeof metric}.`);
    }
    this.metrics = metrics;
    this.#prefix = options.prefix ?? '';
    this.#options = options;
  }

  /**
   * Adds a batch of this rank to all metrics. Not a collective.
   *
   * @throws InvalidArgumentError if the batch does not fit a metric; no metric has added it in this case
   */
  async update(predictions: MetricInput, target: MetricInput): Promise<void> {
    const who = 'MetricCollection.update';
    const batch = await Promise.all([valuesOf(who, predictions), valuesOf(who, target)]);
    const all = Object.values(this.metrics);
    const measured = all.map((metric) => metric.measured(batch));
    for (const [index, metric] of all.entries()) metric.add(measured[index]);
  }

  /** The values over the updates of all ranks since the last `reset`, by prefix and name. A collective. */
  async compute({ group = this.#options.processGroup ?? currentGroup() }: ComputeOptions = {}): Promise<
    CollectionValues<Metrics, Prefix>
  > {
    const named = Object.entries(this.metrics);
    const states = await overRanks(
      named.map(([, metric]) => metric.state()),
      group,
    );
    const values = named.map(([name, metric], index) => [
      `${this.#prefix}${name}`,
      metric.computed(states[index]),
    ]);
    return Object.fromEntries(values) as CollectionValues<Metrics, Prefix>;
  }

  /** Forgets all updates of this rank. */
  reset(): void {
    for (const metric of Object.values(this.metrics)) metric.reset();
  }
}
