import type { ProcessGroup } from '@ringrun/collectives';

/** How fast a group of two sums arrays. */
export interface Throughput {
  /** Of the largest array that was summed. */
  bytes: number;
  /** Milliseconds that one all-reduce of them takes, the fastest of five. */
  milliseconds: number;
  /** Of the array in one second. In a group of two each side sends, and gets, as many bytes as the array has: 2 (n − 1) / n with n = 2. */
  bytesPerSecond: number;
}

const latencyRounds = 100;
const throughputRounds = 5;
const smallest = 64 * 1024;
const largest = 64 * 1024 * 1024;

/** Microseconds of an all-reduce of 4 B, the median of 100: a collective. */
export async function measureLatency(group: ProcessGroup): Promise<number> {
  const one = new Float32Array(1);
  await group.allReduce(one);
  const times = Array.from({ length: latencyRounds }, () =>
    timed(() => {
      group.allReduceSync(one);
    }),
  );
  return 1000 * median(times);
}

/**
 * Sums arrays of doubling length, until one takes `enoughMs` or has 64 MiB, so that a slow link is not kept busy for minutes: a collective. The ranks agree on each length, and on
 * what they tell, by the longest time of any.
 *
 * @param onSize is told the bytes that are tried next.
 * @throws as `allReduce`, when an array does not get through within the group's timeout.
 */
export async function measureThroughput(
  group: ProcessGroup,
  enoughMs: number,
  onSize?: (bytes: number) => void,
): Promise<Throughput> {
  for (let bytes = smallest; ; bytes *= 2) {
    onSize?.(bytes);
    const array = new Float32Array(bytes / 4);
    if ((await fastestOf(group, array, 2)) < enoughMs && bytes < largest) continue;
    const milliseconds = await fastestOf(group, array, throughputRounds);
    return { bytes, milliseconds, bytesPerSecond: (1000 * bytes) / milliseconds };
  }
}

/** Milliseconds of the fastest of as many all-reduces: what else runs for a moment makes some of them slow, and says nothing of the link. */
async function fastestOf(group: ProcessGroup, array: Float32Array, rounds: number): Promise<number> {
  const times = [];
  for (let i = 0; i < rounds; i += 1) times.push(await timedAsync(() => group.allReduce(array)));
  return longestOf(group, Math.min(...times));
}

async function longestOf(group: ProcessGroup, milliseconds: number): Promise<number> {
  const longest = Float64Array.of(milliseconds);
  await group.allReduce(longest, { op: 'MAX' });
  return longest[0];
}

function timed(action: () => void): number {
  const startedAt = performance.now();
  action();
  return performance.now() - startedAt;
}

async function timedAsync(action: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
