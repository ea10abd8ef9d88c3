import { InvalidArgumentError, localRankOf } from '@ringrun/core';

/**
 * Returns the index of this rank's GPU among the visible ones (CUDA_VISIBLE_DEVICES): the requested one, otherwise
 * LOCAL_RANK modulo `count`, so that a rank that sees one GPU uses it. `checkRankInfos` detects ranks that share a GPU.
 *
 * @param count Number of GPUs that this process sees; at least 1.
 * @throws InvalidArgumentError for an index out of range or an invalid LOCAL_RANK.
 */
export function chooseDevice(
  count: number,
  asked: number | undefined,
  env: NodeJS.ProcessEnv = process.env,
): number {
  if (asked !== undefined) return checkedDevice(asked, count);
  const given = localRankOf(env) ?? '0';
  const localRank = Number(given);
  if (given !== '' && Number.isInteger(localRank) && localRank >= 0) return localRank % count;
  throw new InvalidArgumentError(
    `LOCAL_RANK is '${given}', expected the rank on this host: an integer from 0. Start with the launcher, which sets it, ` +
      'or choose the GPU with the option device',
  );
}

function checkedDevice(asked: number, count: number): number {
  if (Number.isInteger(asked) && asked >= 0 && asked < count) return asked;
  throw new InvalidArgumentError(
    `device is ${asked}, expected a GPU that this process sees: an integer from 0 to ${count - 1} (see CUDA_VISIBLE_DEVICES)`,
  );
}
