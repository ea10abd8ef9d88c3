/** Which of a worker's two streams an option is about. */
export interface Streams {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** The same for all workers of the node, or by local rank; ranks that are not named have none. */
export type StreamsByRank = Streams | ReadonlyMap<number, Streams>;

export const noStreams: Streams = { stdout: false, stderr: false };

/** What is said of the worker `localRank`. */
export function streamsOf(streams: StreamsByRank, localRank: number): Streams {
  return 'stdout' in streams ? streams : (streams.get(localRank) ?? noStreams);
}

/**
 * Reads torch's form (Std.from_str): 0 none, 1 stdout, 2 stderr, 3 both, for all or by local rank as in `0:1,1:2`; undefined for anything else, or
 * where a rank is named twice.
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
