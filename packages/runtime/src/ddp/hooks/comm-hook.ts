import { ReduceOp, type ProcessGroup, type TypedArray } from '@ringrun/collectives';
import type { DistributedParameter } from '../distributed-module.ts';

/** Gradients that are averaged together, as a hook gets them (torch.distributed.GradBucket). */
export interface GradientBucket {
  /** Place in the order of the buckets, from 0, the same on every rank. The last parameters lie in the first bucket. */
  readonly index: number;
  /** Whether this is the last bucket of the step. */
  readonly isLast: boolean;
  /** This rank's gradients, side by side; the hook leaves the result here. The same array at every step. */
  readonly data: Float32Array;
  /** The parameters whose gradients these are, in their order. */
  readonly parameters: readonly DistributedParameter[];
  /** The gradient of each parameter: views of `data`. */
  gradients(): readonly Float32Array[];
}

/**
 * Averages a bucket in its own way (torch: DistributedDataParallel.register_comm_hook): resolves when `bucket.data` holds the result, which must have the same
 * bytes on every rank. Called on every rank for one bucket after the other in the order of `index`, each when the hook's promise for the one before has
 * resolved, so that a hook of several collectives runs them in one order everywhere. An error that it throws rejects `backward`.
 */
export interface CommHook {
  (bucket: GradientBucket, group: ProcessGroup): Promise<void>;
  /** The same by the `…Sync` forms of collectives, over when it returns: for libraries whose optimizers do not wait for promises. `commHooks` all have it. */
  sync?(bucket: GradientBucket, group: ProcessGroup): void;
}

/** What a hook does, once for both of its forms: yields what `average` gives, a promise or, where it is over already, nothing. */
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
