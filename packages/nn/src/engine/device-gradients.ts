import type { DeviceAverage, DeviceBucket, GradientPass } from '@ringrun/core';
import type { DeviceCollectives, GradientBucket } from '../executor/device-collectives.ts';
import type { DeviceCall } from '../executor/executor.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import type { GradientReceiver } from '../graph/source.ts';

/** Where buckets are, for the memory that used them last. */
const placed = new WeakMap<DeviceBucket, { readonly memory: ValueMemory; readonly bucket: GradientBucket }>();

/** The gradients of one pass on a device: they lie in the buckets that a group averages. */
export class DeviceGradients {
  readonly #memory: ValueMemory;
  readonly #collectives: DeviceCollectives;
  readonly #average: DeviceAverage;
  readonly #reached: ReadonlySet<GradientReceiver>;

  private constructor(
    memory: ValueMemory,
    collectives: DeviceCollectives,
    average: DeviceAverage,
    reached: readonly GradientReceiver[],
  ) {
    this.#memory = memory;
    this.#collectives = collectives;
    this.#average = average;
    this.#reached = new Set(reached);
    for (const bucket of average.buckets) this.#place(bucket);
  }

  /**
   * Undefined if the gradients must be averaged on the host.
   *
   * @param reached the parameters whose gradients the pass writes
   */
  static of(
    memory: ValueMemory,
    pass: GradientPass,
    reached: readonly GradientReceiver[],
  ): DeviceGradients | undefined {
    const { collectives } = memory;
    if (collectives === undefined) return undefined;
    const average = pass.onDevice?.();
    if (average === undefined) return undefined;
    if (average.group !== undefined && collectives.groupOf(average.group) === undefined) return undefined;
    return new DeviceGradients(memory, collectives, average, reached);
  }

  /** False if parameters must not change before the pass has ended. */
  get mayUpdate(): boolean {
    return this.#average.mayUpdate;
  }

  /** The call of a part in the program that computes the gradients. */
  callAt(bucketIndex: number): DeviceCall {
    const buckets = this.#average.readyAt(bucketIndex).map(bucketOf);
    return { group: this.#average.group, buckets };
  }

  /** Averages the gradients, if the program has not. */
  async average(): Promise<void> {
    const { group, buckets } = this.#average;
    for (const { gradientMemory } of this.#reached) gradientMemory.forReading(this.#memory);
    if (group !== undefined) await this.#collectives.average(group, buckets.map(bucketOf));
    for (const { gradientMemory } of this.#reached) gradientMemory.forWriting(this.#memory);
  }

  /** Call it when the gradients are averaged. Resolves when their pass may end; undefined if it may end now. */
  end(): Promise<void> | undefined {
    const { group, buckets, readsTails } = this.#average;
    if (!readsTails) return undefined;
    for (const { gradientMemory } of this.#absent()) gradientMemory.forWriting(this.#memory);
    if (group === undefined) return undefined;
    return Promise.all(buckets.map((bucket) => bucketOf(bucket).readTail(bucket.tail))).then(() => undefined);
  }

  #place(bucket: DeviceBucket): void {
    const { tail } = bucket;
    const parameters = bucket.parameters as readonly GradientReceiver[];
    let place = placed.get(bucket);
    if (place?.memory !== this.#memory) {
      const lengths = parameters.map(({ gradientMemory }) => gradientMemory.length);
      const allocated = this.#collectives.allocateBucket(lengths, tail.length);
      place = { memory: this.#memory, bucket: allocated };
      placed.set(bucket, place);
    }
    const { buffers } = place.bucket;
    for (const [index, { gradientMemory }] of parameters.entries()) {
      gradientMemory.placeIn(this.#memory, buffers[index]);
    }
    place.bucket.setTail(tail);
    if (!this.#average.readsTails) return;
    // A gradient of an earlier pass takes part in the average, as those of parameters that other ranks do not reach.
    for (const { gradientMemory, hasGradient } of parameters.filter((one) => !this.#reached.has(one))) {
      if (!hasGradient) gradientMemory.clear();
      gradientMemory.forReading(this.#memory);
    }
  }

  #absent(): readonly GradientReceiver[] {
    const all = this.#average.buckets.flatMap(({ parameters }) => parameters as readonly GradientReceiver[]);
    return all.filter((parameter) => !this.#reached.has(parameter));
  }
}

function bucketOf(bucket: DeviceBucket): GradientBucket {
  return placed.get(bucket)!.bucket;
}
