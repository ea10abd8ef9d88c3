import { ReduceOp, RingrunError, type ProcessGroup } from '@ringrun/collectives';
import { assignBuckets } from './buckets.ts';
import type { DistributedParameter, GradientSink } from './distributed-module.ts';

/** Gradients that lie side by side and are averaged by one all-reduce. */
interface Bucket {
  /** The gradients, and behind them `uses`. */
  readonly data: Float32Array;
  readonly parameters: readonly DistributedParameter[];
  /** For each parameter 1 where this rank's loss depends on it, else 0. Averaged with the gradients, it is 0 where no rank's does. */
  readonly uses: Float32Array;
  /** Gradients of the present backward pass that are not there yet. */
  missing: Set<DistributedParameter>;
}

interface Place {
  readonly bucket: Bucket;
  /** Of the bucket, in the order in which buckets are reduced. */
  readonly index: number;
  /** Of the parameter in the bucket. */
  readonly position: number;
  readonly gradient: Float32Array;
}

/**
 * Averages gradients over the ranks while they become ready (torch's c10d::Reducer). Buckets lie in the group's shared memory, so that a gradient is
 * reduced where the backward pass wrote it.
 *
 * All ranks must start the same all-reduces in the same order, whatever the order in which their gradients become ready: a bucket waits for those
 * before it.
 */
export class Reducer implements GradientSink {
  readonly #group: ProcessGroup;
  readonly #overlaps: boolean;
  readonly #buckets: readonly Bucket[];
  readonly #places = new Map<DistributedParameter, Place>();
  #started: Promise<void>[] = [];
  #backwardUnderWay = false;
  #averaging = false;

  /**
   * @param parameters in the order of definition; backward passes reach them in about the reverse
   * @param firstCap bytes of the first bucket
   * @param cap bytes of every other bucket
   * @param overlaps whether the library shall deliver gradients bucket by bucket
   */
  constructor(
    group: ProcessGroup,
    parameters: readonly DistributedParameter[],
    firstCap: number,
    cap: number,
    overlaps: boolean,
  ) {
    this.#group = group;
    this.#overlaps = overlaps;
    const order = parameters.toReversed();
    const bytes = order.map(({ data }) => data.byteLength);
    this.#buckets = assignBuckets(bytes, firstCap, cap).map((positions, index) =>
      this.#allocate(
        index,
        positions.map((position) => order[position]),
      ),
    );
  }

  placeOf(parameter: DistributedParameter): Float32Array {
    return this.#placeOf(parameter).gradient;
  }

  /** A bucket for itself, unless nothing is to be done before the backward pass is over. */
  groupOf(parameter: DistributedParameter): number {
    return this.#overlaps ? this.#placeOf(parameter).index : 0;
  }

  gradientReady(parameter: DistributedParameter): void {
    if (this.#averaging) {
      throw new RingrunError(
        'ERR_BACKWARD_UNDER_WAY',
        'A backward pass began while the gradients of the one before were being averaged: await loss.backward() before the next.',
      );
    }
    const { bucket, position } = this.#placeOf(parameter);
    this.#backwardUnderWay = true;
    bucket.uses[position] = 1;
    bucket.missing.delete(parameter);
    this.#startCompleteBuckets();
  }

  /** Called again before the next backward pass, it has nothing to do. */
  async backwardDone(): Promise<void> {
    if (!this.#backwardUnderWay) return;
    const unused = this.#buckets.flatMap(({ missing }) => [...missing]);
    for (const parameter of unused) this.#contributeNothing(parameter);
    this.#startCompleteBuckets();
    await this.#average();
    for (const parameter of unused) if (this.#isUsedByAnyRank(parameter)) parameter.gradientWritten();
    this.#awaitNextPass();
  }

  #allocate(index: number, parameters: readonly DistributedParameter[]): Bucket {
    const length = parameters.reduce((sum, { data }) => sum + data.length, 0);
    const data = this.#group.allocateSync('float32', length + parameters.length);
    const uses = data.subarray(length);
    const bucket: Bucket = { data, parameters, uses, missing: new Set(parameters) };
    let offset = 0;
    for (const [position, parameter] of parameters.entries()) {
      const end = offset + parameter.data.length;
      this.#places.set(parameter, { bucket, index, position, gradient: data.subarray(offset, end) });
      offset = end;
    }
    return bucket;
  }

  /** This rank's loss does not depend on the parameter, another's may. What earlier passes have accumulated is the same on all ranks, and so is its average. */
  #contributeNothing(parameter: DistributedParameter): void {
    const { bucket, position, gradient } = this.#placeOf(parameter);
    if (parameter.grad === undefined) gradient.fill(0);
    bucket.uses[position] = 0;
    bucket.missing.delete(parameter);
  }

  async #average(): Promise<void> {
    this.#averaging = true;
    try {
      await Promise.all(this.#started);
    } finally {
      this.#averaging = false;
    }
  }

  #isUsedByAnyRank(parameter: DistributedParameter): boolean {
    const { bucket, position } = this.#placeOf(parameter);
    return bucket.uses[position] > 0;
  }

  #awaitNextPass(): void {
    for (const bucket of this.#buckets) bucket.missing = new Set(bucket.parameters);
    this.#started = [];
    this.#backwardUnderWay = false;
  }

  #startCompleteBuckets(): void {
    for (const { missing, data } of this.#buckets.slice(this.#started.length)) {
      if (missing.size > 0) return;
      this.#started.push(this.#group.allReduce(data, { op: ReduceOp.AVG }));
    }
  }

  #placeOf(parameter: DistributedParameter): Place {
    const place = this.#places.get(parameter);
    if (place === undefined) {
      throw new Error('A gradient of a parameter that the wrapped model did not have when it was wrapped.');
    }
    return place;
  }
}
