import { ReduceOp, type ProcessGroup } from '@ringrun/collectives';
import { assignBuckets } from './buckets.ts';
import type { DistributedParameter, GradientSink } from './distributed-module.ts';

/** Gradients that lie side by side and are averaged by one all-reduce. */
interface Bucket {
  readonly data: Float32Array;
  readonly parameters: readonly DistributedParameter[];
  /** Gradients of the present backward pass that are not there yet. */
  missing: Set<DistributedParameter>;
}

interface Place {
  readonly bucket: Bucket;
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
  readonly #buckets: readonly Bucket[];
  readonly #places = new Map<DistributedParameter, Place>();
  #started: Promise<void>[] = [];
  #backwardUnderWay = false;

  /**
   * @param parameters in the order of definition; backward passes reach them in about the reverse
   * @param firstCap bytes of the first bucket
   * @param cap bytes of every other bucket
   */
  constructor(
    group: ProcessGroup,
    parameters: readonly DistributedParameter[],
    firstCap: number,
    cap: number,
  ) {
    this.#group = group;
    const order = parameters.toReversed();
    const bytes = order.map(({ data }) => data.byteLength);
    this.#buckets = assignBuckets(bytes, firstCap, cap).map((positions) =>
      this.#allocate(positions.map((position) => order[position])),
    );
  }

  placeOf(parameter: DistributedParameter): Float32Array {
    return this.#placeOf(parameter).gradient;
  }

  gradientReady(parameter: DistributedParameter): void {
    this.#backwardUnderWay = true;
    this.#placeOf(parameter).bucket.missing.delete(parameter);
    this.#startCompleteBuckets();
  }

  /** Called again before the next backward pass, it has nothing to do. */
  async backwardDone(): Promise<void> {
    if (!this.#backwardUnderWay) return;
    this.#backwardUnderWay = false;
    this.#contributeZerosForUnused();
    this.#startCompleteBuckets();
    const started = this.#started;
    this.#started = [];
    for (const bucket of this.#buckets) bucket.missing = new Set(bucket.parameters);
    await Promise.all(started);
  }

  #allocate(parameters: readonly DistributedParameter[]): Bucket {
    const length = parameters.reduce((sum, { data }) => sum + data.length, 0);
    const data = this.#group.allocateSync('float32', length);
    const bucket: Bucket = { data, parameters, missing: new Set(parameters) };
    let offset = 0;
    for (const parameter of parameters) {
      const end = offset + parameter.data.length;
      this.#places.set(parameter, { bucket, gradient: data.subarray(offset, end) });
      offset = end;
    }
    return bucket;
  }

  /** A parameter that this rank's loss did not use, but another's may have: its gradient here is zero. */
  #contributeZerosForUnused(): void {
    for (const { missing } of this.#buckets) {
      for (const parameter of missing) {
        this.placeOf(parameter).fill(0);
        missing.delete(parameter);
      }
    }
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
