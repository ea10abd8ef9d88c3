import { LaunchError } from '../launch-error.ts';
import type { LogOptions } from '../options/launch-options.ts';
import type { StreamsByRank } from '../options/streams-by-rank.ts';

/**
 * Refuses output options for a local rank that does not exist: they would hide the output of the other workers.
 *
 * @param count Workers on this node.
 * @throws LaunchError that names the option and the rank.
 */
export function refuseUnknownRanks({ redirects, tee, filter }: LogOptions, count: number): void {
  const named: readonly (readonly [option: string, localRanks: readonly number[]])[] = [
    ['--redirects', localRanksOf(redirects)],
    ['--tee', localRanksOf(tee)],
    ['--local-ranks-filter', filter ?? []],
  ];
  for (const [option, localRanks] of named) {
    const unknown = localRanks.find((localRank) => localRank >= count);
    if (unknown === undefined) continue;
    const expected = count === 1 ? '0, the only one on this node' : `from 0 to ${count - 1}`;
    throw new LaunchError(
      2,
      `${option}: expected local ranks ${expected}, got ${unknown}. Correct it, or pass the number of processes with --nproc-per-node.`,
    );
  }
}

function localRanksOf(streams: StreamsByRank): number[] {
  return 'stdout' in streams ? [] : [...streams.keys()];
}
