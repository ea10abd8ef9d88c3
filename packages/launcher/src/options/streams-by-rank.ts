/** The output streams of a worker that an option selects. */
export interface Streams {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** The same streams for all workers of the node, or streams by local rank; other ranks have none. */
export type StreamsByRank = Streams | ReadonlyMap<number, Streams>;

export const noStreams: Streams = { stdout: false, stderr: false };

/** Streams that are selected for the worker `localRank`. */
export function streamsOf(streams: StreamsByRank, localRank: number): Streams {
  return 'stdout' in streams ? streams : (streams.get(localRank) ?? noStreams);
}

/**
 * Parses torch's form (Std.from_str): 0 none, 1 stdout, 2 stderr, 3 both, for all workers or by local rank, as in
 * `0:1,1:2`. Undefined for any other text, or if a rank occurs twice.
 */
export function parseStreamsByRank(text: string): StreamsByRank | undefined {
  if (/^[0-3]$/.test(text)) return streamsFrom(Number(text));
  if (!/^\d+:[0-3](?:,\d+:[0-3])*$/.test(text)) return undefined;
  const entries = text.split(',').map((entry) => entry.split(':').map(Number));
  const byRank = new Map(entries.map(([localRank, bits]) => [localRank, streamsFrom(bits)]));
  return byRank.size === entries.length ? byRank : undefined;
}

function streamsFrom(bits: number): Streams {
  return { stdout: (bits & 1) !== 0, stderr: (bits & 2) !== 0 };
}
