import type { ProcessGroup } from '@ringrun/collectives';
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
export type CommHook = (bucket: GradientBucket, group: ProcessGroup) => Promise<void>;
