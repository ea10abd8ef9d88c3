import { InvalidArgumentError, printable } from '@ringrun/core';
import { describeRank } from '../native-group/failure.ts';
import type { RankInfo } from './rank-info.ts';

/**
 * Returns the algorithm in RINGRUN_ALGORITHM, or '' if it is not set. It applies to every collective that implements it
 * (docs/algorithms.md) and is meant for comparing and debugging algorithms.
 *
 * @param names Names of the available algorithms.
 * @throws InvalidArgumentError for an unknown name.
 */
export function requestedAlgorithm(names: readonly string[], env: NodeJS.ProcessEnv = process.env): string {
  const given = env['RINGRUN_ALGORITHM'] ?? '';
  if (given === '' || names.includes(given)) return given;
  throw new InvalidArgumentError(
    `RINGRUN_ALGORITHM is '${given}', expected one of ${names.join(', ')}. Unset it to let ringrun choose for each operation`,
  );
}

type RankForAlgorithm = Pick<RankInfo, 'rank' | 'host' | 'pid' | 'algorithm'>;

/**
 * Ranks that run one operation with different algorithms would wait for messages that are never sent.
 *
 * @throws InvalidArgumentError if the ranks' algorithms differ.
 */
export function checkSameAlgorithm(infos: readonly RankForAlgorithm[]): void {
  const first = infos[0];
  const other = infos.find(({ algorithm }) => algorithm !== first.algorithm);
  if (other === undefined) return;
  throw new InvalidArgumentError(
    `${toldOf(first)}, ${toldOf(other)}. Set RINGRUN_ALGORITHM to the same value on every rank`,
  );
}

function toldOf(info: RankForAlgorithm): string {
  const { algorithm } = info;
  return `${describeRank(info)} uses algorithm ${algorithm === '' ? 'auto' : printable(algorithm)}`;
}
