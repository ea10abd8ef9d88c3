import { InvalidArgumentError } from '@ringrun/core';
import { NativeGroupBase } from './native-group/native-group.ts';
import type { QuantizedAllReduceOptions } from './native-group/quantized.ts';

/**
 * Replaces `data` by its sum or average over the ranks, sent as integers of 8 or 4 bits: about a quarter or an eighth of the
 * bytes of `allReduce`. A collective. All ranks receive the same bits.
 *
 * Numbers are rounded in blocks of 256, with one scale for each block: its largest magnitude M becomes 127 (8 bits) or 7 (4
 * bits). Each rank rounds its own terms, and one rank rounds their sum, so each number is rounded twice, whatever the number
 * of ranks. With Q = 127 or 7, and M of each rank's block and of the result's, the error of a sum is at most
 * (ΣMᵣ + M) / 2Q, and of an average (mean of Mᵣ + M) / 2Q, up to a ten-thousandth of this. With `error`, what a call lost is
 * added to the next call's data.
 *
 * Ranks that share memory send nothing, so they reduce in float32 and do not round: on one host, the result is that of
 * `allReduce`, and `error` stays as it is. Between hosts, the sum of each host is rounded. In a group of one, nothing
 * changes. In a group of the backend nccl, the array goes over the connections of the CPUs.
 *
 * A block in which any rank has NaN or infinity becomes NaN on all ranks, and does not change `error` on that rank.
 *
 * @param group of `initProcessGroup` or `newGroup`
 * @param data in host memory; of the same length on all ranks
 * @throws InvalidArgumentError for wrong arguments, or a group of another class
 * @throws CollectiveMismatchError on all ranks if lengths, bits or ops differ; no data and no error was changed
 * @throws PeerDiedError, CollectiveTimeoutError as every collective
 */
export async function allReduceQuantized(
  group: object,
  data: Float32Array,
  options: QuantizedAllReduceOptions,
): Promise<void> {
  await requireNative(group).allReduceQuantized(data, options);
}

/** `allReduceQuantized` on the calling thread. */
export function allReduceQuantizedSync(
  group: object,
  data: Float32Array,
  options: QuantizedAllReduceOptions,
): void {
  requireNative(group).allReduceQuantizedSync(data, options);
}

function requireNative(group: object): NativeGroupBase {
  if (group instanceof NativeGroupBase) return group;
  throw new InvalidArgumentError(
    'allReduceQuantized: expected a group of initProcessGroup or newGroup, got one of another class, which has no quantized all-reduce.',
  );
}
