import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { DistributedDataParallelOptions, OptionNames, ProcessGroup } from '@ringrun/core';
import { defaultBucketCapMb } from './buckets.ts';

const optionNames: OptionNames<DistributedDataParallelOptions> = {
  processGroup: true,
  bucketCapMb: true,
  overlap: true,
  broadcastBuffers: true,
  verifyEvery: true,
  faultTolerance: true,
  minRanks: true,
  onMembershipChange: true,
};

/** @throws InvalidArgumentError for an unknown option */
export function requireDdpOptions(options: unknown): void {
  requireOptions('DistributedDataParallel', options, optionNames);
}

/** The options that must be equal on all ranks. */
export type Settings = Required<Omit<DistributedDataParallelOptions, 'processGroup' | 'onMembershipChange'>>;

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
    faultTolerance = 'none',
    minRanks = 1,
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
  if (!(['none', 'shrink'] as unknown[]).includes(faultTolerance)) {
    throw new InvalidArgumentError(
      `DistributedDataParallel: faultTolerance: expected 'none' or 'shrink', got "${faultTolerance}".`,
    );
  }
  if (!Number.isSafeInteger(minRanks) || minRanks < 1) {
    throw new InvalidArgumentError(
      `DistributedDataParallel: minRanks: expected an integer of at least 1, got ${minRanks}.`,
    );
  }
  return { bucketCapMb, overlap, broadcastBuffers, verifyEvery, faultTolerance, minRanks };
}
