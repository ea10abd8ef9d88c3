import {
  InvalidArgumentError,
  type ProcessGroup,
  requireOptions,
  type OptionNames,
} from '@ringrun/collectives';
import { defaultBucketCapMb } from './buckets.ts';

export interface DistributedDataParallelOptions {
  /** Ranks that train together; the default group unless given. */
  processGroup?: ProcessGroup;
  /** Size of a gradient bucket in MiB; 25 unless given. The first bucket has 1. */
  bucketCapMb?: number;
  /**
   * Whether the all-reduce of a bucket starts while the rest of the backward pass computes, which cuts the compiled step at the buckets. Unless given, where
   * the group reaches over a network: there an all-reduce takes time and hardly a processor. In shared memory it takes less time than the cuts cost, and
   * from the same processors.
   */
  overlap?: boolean;
  /**
   * Whether every forward of a model in training mode first gives all ranks the buffers of rank 0 (torch's broadcast_buffers); true unless given. Where it is
   * false, each rank's running means are those of its own data. A model without buffers costs nothing either way.
   */
  broadcastBuffers?: boolean;
  /**
   * Every so many steps the ranks compare a digest of their parameters, and a difference is a `ParametersDivergedError` of `backward` that names the first
   * parameter and the ranks; 0: never. 1,000 unless given: a difference makes no other noise than a worse model, and SHA-256 takes 2.5 ms for a million
   * parameters, which is nothing beside 1,000 steps. Buffers are not compared: they differ within a step by nature, and `broadcastBuffers` makes them equal.
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

/** @throws InvalidArgumentError for what is no option */
export function requireDdpOptions(options: unknown): void {
  requireOptions('DistributedDataParallel', options, optionNames);
}

/** What all ranks give alike. */
export type Settings = Required<Omit<DistributedDataParallelOptions, 'processGroup'>>;

/** @throws InvalidArgumentError for what cannot work */
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
    throw new InvalidArgumentError(`bucketCapMb must be a number of MiB above 0, given ${bucketCapMb}.`);
  }
  if (!Number.isSafeInteger(verifyEvery) || verifyEvery < 0) {
    throw new InvalidArgumentError(
      `verifyEvery must be a whole number of steps, 0 for never, given ${verifyEvery}.`,
    );
  }
  return { bucketCapMb, overlap, broadcastBuffers, verifyEvery };
}
