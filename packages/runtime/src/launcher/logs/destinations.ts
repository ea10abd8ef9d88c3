import type { LogOptions } from '../options/launch-options.ts';
import { streamsOf } from '../options/streams-by-rank.ts';
import type { Streams } from '../options/streams-by-rank.ts';

/** Where one stream of a worker goes: to the launcher's own, nowhere, or to a file, of which the console shows each line or none. */
export type Destination = 'console' | 'nowhere' | 'file' | 'file and console';

export type StreamName = keyof Streams;

/**
 * Where `stream` of the worker `localRank` goes, by torch's rules: what is shown is in a file too (--tee), and the filter is about the console alone.
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

/** A worker's place, as its lines on the console show it. */
export interface Place {
  role: string;
  rank: number;
  /** The node's rank, and how many nodes there are. */
  groupRank: number;
  groupWorldSize: number;
}

/** `[default0]:` as torchrun has it; of several nodes `[1:default3]:`, in which 1 is the node and 3 the rank among all. */
export function linePrefix({ role, rank, groupRank, groupWorldSize }: Place): string {
  return groupWorldSize === 1 ? `[${role}${rank}]:` : `[${groupRank}:${role}${rank}]:`;
}
