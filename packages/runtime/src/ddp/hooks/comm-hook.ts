import { ReduceOp, type ProcessGroup, type TypedArray } from '@ringrun/collectives';
import type { DistributedParameter } from '../distributed-module.ts';

/** The bucket of gradients that a hook averages (torch.distributed.GradBucket). */
export interface GradientBucket {
  /** Index of the bucket, from 0, the same on every rank. The first bucket holds the last parameters. */
  readonly index: number;
  /** Whether this is the last bucket of the step. */
  readonly isLast: boolean;
  /** This rank's gradients, concatenated. The hook writes the result here. The same array in every step. */
  readonly data: Float32Array;
  /** The parameters of the bucket, in the order of their gradients. */
  readonly parameters: readonly DistributedParameter[];
  /** The gradient of each parameter: views of `data`. */
  gradients(): readonly Float32Array[];
}

/**
 * Averages the gradients of a bucket (torch: DistributedDataParallel.register_comm_hook). It resolves when
 * `bucket.data` holds the result, which must be bit-identical on every rank. Every rank calls it for one
 * bucket at a time, in order of `index`, so a hook may run several collectives. If it rejects, `backward`
 * rejects.
 */
export interface CommHook {
  (bucket: GradientBucket, group: ProcessGroup): Promise<void>;
  /**
   * Synchronous form, with the `…Sync` collectives, for libraries that cannot await promises. All `commHooks`
   * have it.
   */
  sync?(bucket: GradientBucket, group: ProcessGroup): void;
}

/**
 * A hook as a generator, from which both forms are made. It yields the result of `average`: a promise, or
 * undefined in the synchronous form.
 */
export type HookSteps = (
  bucket: GradientBucket,
  group: ProcessGroup,
  average: (data: TypedArray) => Promise<void> | undefined,
) => Iterable<Promise<unknown> | undefined>;

export function inBothForms(steps: HookSteps): CommHook {
  const later: CommHook = async (bucket, group) => {
    const average = (data: TypedArray) => group.allReduce(data, { op: ReduceOp.AVG });
    for (const step of steps(bucket, group, average)) await step;
  };
  const sync: CommHook['sync'] = (bucket, group) => {
    const run = steps(bucket, group, (data) => {
      group.allReduceSync(data, { op: ReduceOp.AVG });
      return undefined;
    })[Symbol.iterator]();
    while (!run.next().done);
  };
  return Object.assign(later, { sync });
}

/** Averages gradients with one all-reduce per bucket, as without a hook (torch: allreduce_hook). */
export const allReduce: CommHook = inBothForms(({ data }, _, average) => [average(data)]);
