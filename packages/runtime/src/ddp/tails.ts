import { ReduceOp } from '@ringrun/core';
import type { ProcessGroup } from '@ringrun/core';
import type { Bucket } from './bucket.ts';
import { joinArrays, lengthOf, splitArray } from './joined-arrays.ts';

/**
 * Averages the tails of all buckets by one all-reduce, for a hook, which averages only the gradients. One for each bucket would
 * wait for as many round trips, and `allReduceCoalesced` for one more, in which ranks compare lengths.
 */
export async function averageTails(group: ProcessGroup, buckets: readonly Bucket[]): Promise<void> {
  const tails = tailsOf(buckets);
  const joined = joinedTails(tails);
  await group.allReduce(joined, { op: ReduceOp.AVG });
  splitArray(joined, tails);
}

/** `averageTails` on the calling thread. */
export function averageTailsSync(group: ProcessGroup, buckets: readonly Bucket[]): void {
  const tails = tailsOf(buckets);
  const joined = joinedTails(tails);
  group.allReduceSync(joined, { op: ReduceOp.AVG });
  splitArray(joined, tails);
}

const tailsOf = (buckets: readonly Bucket[]) => buckets.map(({ tail }) => tail);

const joinedTails = (tails: readonly Float32Array[]) => joinArrays(tails, new Float32Array(lengthOf(tails)));
