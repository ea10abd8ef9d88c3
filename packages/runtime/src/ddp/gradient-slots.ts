import { isSameList, RingrunError } from '@ringrun/core';
import type { DistributedParameter, ProcessGroup } from '@ringrun/core';
import { allocateBucket, type Bucket } from './bucket.ts';
import { assignBuckets } from './buckets.ts';
import type { ReducerSettings } from './reducer-settings.ts';

/** The position of a parameter's gradient. */
export interface GradientSlot {
  readonly bucket: Bucket;
  /** Index of the parameter in the bucket. */
  readonly position: number;
}

/** Derived from the parameters of a pass. */
export interface PassPlan {
  readonly parameters: readonly DistributedParameter[];
  readonly slots: readonly GradientSlot[];
  /** The slots of all other parameters. */
  readonly absent: readonly DistributedParameter[];
  /** The values of `bucketIndexOf`, in increasing order. */
  readonly indices: readonly number[];
}

type GradientSlotsSettings = Required<Pick<ReducerSettings, 'firstCap' | 'cap' | 'overlaps'>> & {
  /** Whether the buckets can be averaged again, and moved to another group. */
  isRepeatable: boolean;
};

/**
 * The buckets of a model's gradients, in the memory of the process group, and the position of each gradient in them.
 * Also marks the parameters on which this rank's losses depend.
 */
export class GradientSlots {
  readonly #parameters: readonly DistributedParameter[];
  readonly #overlaps: boolean;
  #buckets: readonly Bucket[];
  readonly #slots = new Map<DistributedParameter, GradientSlot>();
  /** The last pass. */
  #plan: PassPlan | undefined;
  /** The contents of each bucket between two groups. */
  #held: readonly { data: Float32Array; local: Float32Array }[] | undefined;

  /**
   * Allocates the buckets. A collective.
   *
   * @param parameters in order of definition; backward passes reach them in roughly the reverse order
   */
  constructor(
    group: ProcessGroup,
    parameters: readonly DistributedParameter[],
    { firstCap, cap, overlaps, isRepeatable }: GradientSlotsSettings,
  ) {
    this.#parameters = parameters;
    this.#overlaps = overlaps;
    const order = parameters.toReversed();
    const bytes = order.map(({ data }) => data.byteLength);
    this.#buckets = assignBuckets(bytes, firstCap, cap).map((positions, index) =>
      allocateBucket(
        group,
        index,
        positions.map((position) => order[position]),
        isRepeatable,
      ),
    );
    this.#fillSlots();
  }

  /** In the order in which they are averaged. */
  get buckets(): readonly Bucket[] {
    return this.#buckets;
  }

  /** Copies the gradients out of the memory of the group, which is destroyed next. */
  leaveGroup(): void {
    this.#held ??= this.#buckets.map(({ data, local }) => ({ data: data.slice(), local: local!.slice() }));
  }

  /** Moves the gradients into the memory of another group. A collective of that group. */
  enterGroup(group: ProcessGroup): void {
    const held = this.#held!;
    this.#buckets = this.#buckets.map(({ index, parameters }) =>
      allocateBucket(group, index, parameters, true),
    );
    for (const { index, data, local } of this.#buckets) {
      data.set(held[index].data);
      local!.set(held[index].local);
    }
    this.#held = undefined;
    this.#fillSlots();
  }

  arrayOf(parameter: DistributedParameter): Float32Array {
    const { bucket, position } = this.#slotOf(parameter);
    return bucket.gradientViews[position];
  }

  /** Without overlap, 0 for all parameters: nothing is averaged before all gradients have been written. */
  bucketIndexOf(parameter: DistributedParameter): number {
    return this.#overlaps ? this.#slotOf(parameter).bucket.index : 0;
  }

  /** @param parameters whose gradients the pass writes */
  planOf(parameters: readonly DistributedParameter[]): PassPlan {
    if (this.#plan !== undefined && isSameList(this.#plan.parameters, parameters)) return this.#plan;
    const present = new Set(parameters);
    return (this.#plan = {
      parameters,
      slots: parameters.map((parameter) => this.#slotOf(parameter)),
      absent: this.#parameters.filter((parameter) => !present.has(parameter)),
      indices: [...new Set(parameters.map((parameter) => this.bucketIndexOf(parameter)))].sort(
        (a, b) => a - b,
      ),
    });
  }

  /** Marks the parameters of a pass as used. Returns the slots that were not marked before, for `unmarkUsed`. */
  markUsed({ slots }: PassPlan): readonly GradientSlot[] {
    const newly: GradientSlot[] = [];
    for (const slot of slots) {
      if (slot.bucket.uses[slot.position] !== 0) continue;
      slot.bucket.uses[slot.position] = 1;
      newly.push(slot);
    }
    return newly;
  }

  unmarkUsed(slots: readonly GradientSlot[]): void {
    for (const { bucket, position } of slots) bucket.uses[position] = 0;
  }

  unmarkAll(): void {
    for (const { uses } of this.#buckets) uses.fill(0);
  }

  /** Only after the average of the buckets. */
  isUsedByAnyRank(parameter: DistributedParameter): boolean {
    const { bucket, position } = this.#slotOf(parameter);
    return bucket.uses[position] > 0;
  }

  /** Fills in the contribution for parameters of which this rank has no gradient. */
  contributeAbsent({ absent }: PassPlan): void {
    for (const parameter of absent) this.#contributeExistingGradient(parameter);
  }

  /**
   * This rank's loss does not depend on the parameter, but another rank's may. A gradient of earlier passes is left
   * unchanged: if it was averaged, it is the same on all ranks, and so is its average; if it was only accumulated here,
   * `uses` is set already.
   */
  #contributeExistingGradient(parameter: DistributedParameter): void {
    const { bucket, position } = this.#slotOf(parameter);
    if (parameter.grad === undefined) {
      bucket.gradientViews[position].fill(0);
      bucket.uses[position] = 0;
    }
  }

  #fillSlots(): void {
    this.#plan = undefined;
    for (const bucket of this.#buckets) {
      for (const [position, parameter] of bucket.parameters.entries()) {
        this.#slots.set(parameter, { bucket, position });
      }
    }
  }

  #slotOf(parameter: DistributedParameter): GradientSlot {
    const slot = this.#slots.get(parameter);
    if (slot === undefined) {
      throw new RingrunError(
        'ERR_NOT_WRAPPED',
        'DistributedDataParallel: got a gradient of a parameter that was frozen or not in the model when it was wrapped. Wrap the model again after unfreezing or adding parameters.',
      );
    }
    return slot;
  }
}
