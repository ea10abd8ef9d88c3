import { ReduceOp } from '@ringrun/core';
import type { ProcessGroup } from '@ringrun/core';
import type { Bucket } from './bucket.ts';

/**
 * Averages the tails of all buckets by one all-reduce, for a hook, which averages only the gradients. One for each bucket would
 * wait for as many round trips.
 */
export async function averageTails(group: ProcessGroup, buckets: readonly Bucket[]): Promise<void> {
  const tails = gathered(buckets);
  await group.allReduce(tails, { op: ReduceOp.AVG });
  spread(tails, buckets);
}

/** `averageTails` on the calling thread. */
export function averageTailsSync(group: ProcessGroup, buckets: readonly Bucket[]): void {
  const tails = gathered(buckets);
  group.allReduceSync(tails, { op: ReduceOp.AVG });
  spread(tails, buckets);
}

function gathered(buckets: readonly Bucket[]): Float32Array {
  return Float32Array.from(buckets.flatMap(({ tail }) => [...tail]));
}

function spread(tails: Float32Array, buckets: readonly Bucket[]): void {
  let begin = 0;
  for (const { tail } of buckets) {
    tail.set(tails.subarray(begin, begin + tail.length));
    begin += tail.length;
  }
}
