import { InvalidArgumentError } from '../errors.ts';
import type { Card } from './card.ts';

/**
 * The algorithm that this rank was told to use by RINGRUN_ALGORITHM, for every collective that has it (docs/algorithms.md): to compare
 * them, and to find out whether one is to blame. '' when nobody said.
 *
 * @param names Those that there are.
 * @throws InvalidArgumentError for any other word.
 */
export function requestedAlgorithm(names: readonly string[], env: NodeJS.ProcessEnv = process.env): string {
  const given = env['RINGRUN_ALGORITHM'] ?? '';
  if (given === '' || names.includes(given)) return given;
  throw new InvalidArgumentError(
    `RINGRUN_ALGORITHM is '${given}', expected one of ${names.join(', ')}, or nothing for whatever suits each operation`,
  );
}

type CardForAlgorithm = Pick<Card, 'rank' | 'host' | 'pid' | 'algorithm'>;

/**
 * Ranks that carry out one operation in different ways wait for messages that never come.
 *
 * @throws InvalidArgumentError when ranks were told different things.
 */
export function checkSameAlgorithm(cards: readonly CardForAlgorithm[]): void {
  const first = cards[0];
  const other = cards.find(({ algorithm }) => algorithm !== first.algorithm);
  if (other === undefined) return;
  throw new InvalidArgumentError(
    `${toldOf(first)}, ${toldOf(other)}: give RINGRUN_ALGORITHM the same value on every rank`,
  );
}

function toldOf({ rank, host, pid, algorithm }: CardForAlgorithm): string {
  return `rank ${rank} (host ${host}, pid ${pid}) was told to use algorithm ${algorithm === '' ? 'auto' : algorithm}`;
}
