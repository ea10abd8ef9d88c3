import {
  InvalidArgumentError,
  type ProcessGroup,
  requireOptions,
  type OptionNames,
} from '@ringrun/collectives';
import { defaultBucketCapMb } from './buckets.ts';

/** Options of {@link DistributedDataParallel}. All except `processGroup` must be equal on all ranks. */
export interface DistributedDataParallelOptions {
  /** The ranks that train together. Default: the default group. */
  processGroup?: ProcessGroup;
  /** Size of a gradient bucket in MiB. Default: 25. The first bucket has at most 1 MiB. */
  bucketCapMb?: number;
  /**
   * Start the all-reduce of a bucket during the rest of the backward pass, which splits the compiled step at
   * the buckets. Default: `true` if the group spans a network, where an all-reduce takes time but little CPU;
   * `false` in shared memory, where it takes less time than the split costs and uses the same CPUs.
   */
  overlap?: boolean;
  /**
   * Broadcast the buffers of rank 0 before every forward in training mode (torch's broadcast_buffers).
   * Default: `true`. If `false`, each rank's running means are those of its own data. Has no effect on a
   * model without buffers.
   */
  broadcastBuffers?: boolean;
  /**
   * Number of steps between two checks that the parameters are identical on all ranks; 0 disables the check.
   * Default: 1,000. If they differ, `backward` rejects with a `ParametersDivergedError` that names the first
   * such parameter and the ranks. The check hashes the parameters with SHA-256: 2.5 ms per million
   * parameters. Buffers are not compared: they may differ until `broadcastBuffers` makes them equal.
   */
  verifyEvery?: number;
}

const optionNames: OptionNames<DistributedDataParallelOptions> = {
  processGroup: true,
  bucketCapMb: true,
  overlap: true,
  broadcastBuffers: true,
  verifyEvery: true,
};

/** @throws InvalidArgumentError for an unknown option */
export function requireDdpOptions(options: unknown): void {
  requireOptions('DistributedDataParallel', options, optionNames);
}

/** The options that must be equal on all ranks. */
export type Settings = Required<Omit<DistributedDataParallelOptions, 'processGroup'>>;

/** @throws InvalidArgumentError for a value out of range */
export function checkedSettings(
  options: DistributedDataParallelOptions,
  { transport }: Pick<ProcessGroup, 'transport'>,
): Settings {
  const {
    bucketCapMb = defaultBucketCapMb,
    overlap = transport !== 'shm',
    broadcastBuffers = true,
    verifyEvery = 1000,
  } = options;
  if (!(bucketCapMb > 0)) {
    throw new InvalidArgumentError(
      `DistributedDataParallel: bucketCapMb: expected a number of MiB above 0, got ${bucketCapMb}.`,
    );
  }
  if (!Number.isSafeInteger(verifyEvery) || verifyEvery < 0) {
    throw new InvalidArgumentError(
      `DistributedDataParallel: verifyEvery: expected an integer number of steps (0 disables the check), got ${verifyEvery}.`,
    );
  }
  return { bucketCapMb, overlap, broadcastBuffers, verifyEvery };
}
