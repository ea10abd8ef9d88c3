import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { DistributedDataParallelOptions, OptionNames, ProcessGroup } from '@ringrun/core';
import { defaultBucketCapMb } from './buckets.ts';

const optionNames: OptionNames<DistributedDataParallelOptions> = {
  processGroup: true,
  bucketCapMb: true,
  overlap: true,
  broadcastBuffers: true,
  verifyEvery: true,
  shareParameters: true,
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
    shareParameters = false,
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
  if (typeof shareParameters !== 'boolean') {
    throw new InvalidArgumentError(
      `DistributedDataParallel: shareParameters: expected true or false, got ${String(shareParameters)}.`,
    );
  }
  if (shareParameters) requireSharing(transport, faultTolerance);
  return {
    bucketCapMb,
    overlap,
    broadcastBuffers,
    verifyEvery,
    shareParameters,
    faultTolerance,
    minRanks,
  };
}

function requireSharing(
  transport: ProcessGroup['transport'],
  faultTolerance: Settings['faultTolerance'],
): void {
  if (transport !== 'shm' && transport !== 'mixed') {
    throw new InvalidArgumentError(
      `DistributedDataParallel: shareParameters: expected ranks that share memory inside a host (transport 'shm' or 'mixed'), got transport '${transport}'. ` +
        'Use the backend gloo with several ranks on a host and without RINGRUN_TRANSPORT=tcp, or leave shareParameters out.',
    );
  }
  if (faultTolerance !== 'none') {
    throw new InvalidArgumentError(
      `DistributedDataParallel: shareParameters: expected faultTolerance 'none', got '${faultTolerance}': a rank that dies leaves shared parameters partly updated. ` +
        'Use restarts with checkpoints, or leave shareParameters out.',
    );
  }
}
