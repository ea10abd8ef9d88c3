import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { DistributedDataParallelOptions, OptionNames, ProcessGroup } from '@ringrun/core';
import { defaultBucketCapMb } from './buckets.ts';

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
