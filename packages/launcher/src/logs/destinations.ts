import { printable } from '@ringrun/core';
import type { LogOptions } from '../options/launch-options.ts';
import { streamsOf } from '../options/streams-by-rank.ts';
import type { Streams, StreamsByRank } from '../options/streams-by-rank.ts';
import { CommandError } from '../command-error.ts';

/** Where one stream of a worker is written: the launcher's own stream, nowhere, a file, or a file and the console. */
export type Destination = 'console' | 'nowhere' | 'file' | 'file and console';

export type StreamName = keyof Streams;

/**
 * Destination of `stream` of the worker `localRank`. As in torch, --tee writes to a file too, and the filter affects
 * the console alone.
 */
export function destinationOf(options: LogOptions, localRank: number, stream: StreamName): Destination {
  const { redirects, tee, filter } = options;
  const isShown = filter === undefined || filter.includes(localRank);
  if (streamsOf(tee, localRank)[stream]) return isShown ? 'file and console' : 'file';
  if (streamsOf(redirects, localRank)[stream]) return 'file';
  return isShown ? 'console' : 'nowhere';
}

/** Whether any of `count` workers writes to a file. */
export function needsFiles(options: LogOptions, count: number): boolean {
  const localRanks = Array.from({ length: count }, (_, localRank) => localRank);
  const isFile = (stream: StreamName) => (localRank: number) =>
    destinationOf(options, localRank, stream).startsWith('file');
  return localRanks.some(isFile('stdout')) || localRanks.some(isFile('stderr'));
}

/** The ranks of a worker in the prefix of its lines. */
export interface WorkerRanks {
  role: string;
  rank: number;
  /** Rank of the node. */
  groupRank: number;
  /** Number of nodes. */
  groupWorldSize: number;
}

/** Returns `[default0]:`, as torchrun does; with several nodes `[1:default3]:` for rank 3 on node 1. */
export function linePrefix({ role, rank, groupRank, groupWorldSize }: WorkerRanks): string {
  const name = printable(`${role}${rank}`);
  return groupWorldSize === 1 ? `[${name}]:` : `[${groupRank}:${name}]:`;
}

/**
 * Refuses output options for a local rank that does not exist: they would hide the output of the other workers.
 *
 * @param count Workers on this node.
 * @throws CommandError that names the option and the rank.
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
    throw new CommandError(
      2,
      `${option}: expected local ranks ${expected}, got ${unknown}. Correct it, or pass the number of processes with --nproc-per-node.`,
    );
  }
}

function localRanksOf(streams: StreamsByRank): number[] {
  return 'stdout' in streams ? [] : [...streams.keys()];
}
