import type { ProcessGroup } from '@ringrun/core';

/** Throughput of all-reduces in a group of two. */
export interface Throughput {
  /** Size of the largest array reduced. */
  bytes: number;
  /** Milliseconds of one all-reduce of that array, the fastest of five. */
  milliseconds: number;
  /** Array bytes per second. With n = 2 ranks each sends and receives the array's size once: 2 (n − 1) / n. */
  bytesPerSecond: number;
}

const latencyRounds = 100;
const throughputRounds = 5;
const smallest = 64 * 1024;
const largest = 64 * 1024 * 1024;

/** Median latency of 100 all-reduces of 4 B, in microseconds. A collective: every rank calls it. */
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
 * Reduces arrays of doubling length until one takes `enoughMs` or has 64 MiB, so that a slow link is not kept busy for
 * minutes. A collective: the ranks agree on each length and on the result, because each uses the slowest rank's time.
 *
 * @param onSize Called with the size in bytes before each attempt.
 * @throws the errors of `allReduce` if an array is not transferred within the group's timeout.
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

/**
 * Milliseconds of the fastest of `rounds` all-reduces: other processes slow some of them, which is unrelated to the
 * link.
 */
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
