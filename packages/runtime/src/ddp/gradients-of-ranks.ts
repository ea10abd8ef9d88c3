import type { DistributedParameter, ProcessGroup } from '@ringrun/core';
import { bucketOnRanks, type Bucket, type BucketViews } from './bucket.ts';

/** The gradients of all ranks in the memory that they share. */
export class GradientsOfRanks {
  readonly #slots = new Map<DistributedParameter, { ranks: readonly BucketViews[]; position: number }>();

  private constructor(buckets: readonly Bucket[], onRanks: readonly (readonly BucketViews[])[]) {
    for (const [index, { parameters }] of buckets.entries()) {
      const ranks = onRanks[index];
      for (const [position, parameter] of parameters.entries()) {
        this.#slots.set(parameter, { ranks, position });
      }
    }
  }

  /** Undefined unless all ranks share memory. Call it once for the same buckets. */
  static of(group: ProcessGroup, buckets: readonly Bucket[]): GradientsOfRanks | undefined {
    const onRanks = buckets.flatMap((bucket) => {
      const ranks = bucketOnRanks(group, bucket);
      return ranks === undefined ? [] : [ranks];
    });
    return onRanks.length === buckets.length ? new GradientsOfRanks(buckets, onRanks) : undefined;
  }

  /** In the order of the ranks. */
  of(parameter: DistributedParameter): readonly Float32Array[] {
    const { ranks, position } = this.#slots.get(parameter)!;
    return ranks.map(({ gradientViews }) => gradientViews[position]);
  }

  /** Whether the loss of a rank depends on the parameter, since the ranks began their passes. */
  isUsedByAnyRank(parameter: DistributedParameter): boolean {
    const { ranks, position } = this.#slots.get(parameter)!;
    return ranks.some(({ uses }) => uses[position] > 0);
  }
}
