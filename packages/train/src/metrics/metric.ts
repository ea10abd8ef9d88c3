import type { ProcessGroup } from 'ringrun';
import { valuesOf, type MetricInput, type Values } from './input.ts';
import { currentGroup, joined, overRanks, type MetricState } from './state.ts';

/** Options of every metric. */
export interface MetricOptions {
  /** The ranks whose updates are combined. Default: the default group, or this process alone without one. */
  processGroup?: ProcessGroup | undefined;
}

/** Options of {@link Metric.compute}. */
export interface ComputeOptions {
  /** The ranks whose updates are combined, such as the argument of `ddp.retry`. Default: `processGroup` of the metric. */
  group?: ProcessGroup;
}

/** Sizes of the state of a metric. */
export interface StateSizes {
  /** Number of sums. */
  readonly sums: number;
  /** Number of lists. Default: 0. */
  readonly lists?: number;
}

/**
 * A value over all batches of all ranks (torchmetrics.Metric). Each rank updates it with its own batches; ranks may have
 * different numbers of them, or none. `compute` adds the states of all ranks, so the value is that of all samples together.
 *
 * ```ts
 * const accuracy = new Accuracy({ task: 'multiclass', numClasses: 10 });
 * for await (const { image, label } of loader) await accuracy.update(model.forward(tensor(image.data, image.shape)), label);
 * console.log(await accuracy.compute());
 * accuracy.reset();
 * ```
 *
 * A metric of your own extends this class: the constructor passes the number of sums, `measure` returns what a batch
 * adds to them, and `valueOf` computes the value. Sums are float64, so counts are exact up to 2^53.
 *
 * @typeParam Value what `compute` resolves with
 * @typeParam Inputs the arguments of `update`
 */
export abstract class Metric<
  Value = number,
  Inputs extends readonly unknown[] = [predictions: MetricInput, target: MetricInput],
> {
  readonly #group: ProcessGroup | undefined;
  readonly #sums: Float64Array;
  readonly #lists: Float64Array[][];

  /**
   * @param sizes numbers of sums and lists of the state
   * @param options the ranks that are combined
   */
  constructor({ sums, lists = 0 }: StateSizes, { processGroup }: MetricOptions = {}) {
    this.#group = processGroup;
    this.#sums = new Float64Array(sums);
    this.#lists = Array.from({ length: lists }, () => []);
  }

  /**
   * Adds a batch of this rank. Resolves when the tensors have been read. Not a collective.
   *
   * @throws InvalidArgumentError for shapes, dtypes or classes that do not fit; nothing is added in this case
   */
  async update(...inputs: Inputs): Promise<void> {
    this.add(this.measure(...(await this.read(inputs))));
  }

  /**
   * The value over the updates of all ranks since the last `reset`. A collective. Keeps the state, so more updates may follow.
   */
  async compute({ group = this.#group ?? currentGroup() }: ComputeOptions = {}): Promise<Value> {
    const [state] = await overRanks([this.state()], group);
    return this.valueOf(state);
  }

  /** Forgets all updates of this rank. */
  reset(): void {
    this.#sums.fill(0);
    for (const list of this.#lists) list.length = 0;
  }

  /** What a batch adds to the state. Pure: throws, or returns arrays of the sizes of the state. */
  protected abstract measure(...batch: Values[]): MetricState;

  /** The value of a state of all ranks. */
  protected abstract valueOf(state: MetricState): Value;

  /**
   * Reads the arguments of `update`.
   *
   * @internal
   */
  async read(inputs: readonly unknown[]): Promise<Values[]> {
    const who = `${this.constructor.name}.update`;
    return Promise.all(inputs.map((input) => valuesOf(who, input as MetricInput)));
  }

  /**
   * What a batch adds.
   *
   * @internal
   */
  measured(batch: readonly Values[]): MetricState {
    return this.measure(...batch);
  }

  /**
   * Adds what `measured` returned.
   *
   * @internal
   */
  add({ sums, lists }: MetricState): void {
    for (const [place, value] of sums.entries()) this.#sums[place] += value;
    for (const [place, list] of lists.entries()) this.#lists[place].push(list);
  }

  /**
   * The state of this rank.
   *
   * @internal
   */
  state(): MetricState {
    return { sums: this.#sums, lists: this.#lists.map(joined) };
  }

  /**
   * The value of a state of all ranks.
   *
   * @internal
   */
  computed(state: MetricState): Value {
    return this.valueOf(state);
  }
}
