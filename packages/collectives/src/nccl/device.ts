import { InvalidArgumentError } from '../errors.ts';

/**
 * The GPU of this rank, by its index among those that CUDA_VISIBLE_DEVICES lets it see: the one that was asked for; otherwise its place among the ranks of
 * this host (LOCAL_RANK), counted round, so that a rank which sees one GPU only has that one. Whether two ranks come to share one is seen from all cards.
 *
 * @param count GPUs that this process sees; at least one.
 * @throws InvalidArgumentError for an index that there is not, or a LOCAL_RANK that is none.
 */
export function chooseDevice(
  count: number,
  asked: number | undefined,
  env: NodeJS.ProcessEnv = process.env,
): number {
  if (asked !== undefined) return checkedDevice(asked, count);
  const given = env['LOCAL_RANK'] ?? '0';
  const localRank = Number(given);
  if (given !== '' && Number.isInteger(localRank) && localRank >= 0) return localRank % count;
  throw new InvalidArgumentError(
    `LOCAL_RANK is '${given}', expected this process's place on its host: an integer from 0. The launcher sets it; or name the GPU with the option device`,
  );
}

function checkedDevice(asked: number, count: number): number {
  if (Number.isInteger(asked) && asked >= 0 && asked < count) return asked;
  throw new InvalidArgumentError(
    `device is ${asked}, expected a GPU that this process sees: an integer from 0 to ${count - 1} (CUDA_VISIBLE_DEVICES says which those are)`,
  );
}
