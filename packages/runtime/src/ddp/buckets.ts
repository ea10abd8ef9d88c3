/** Bytes of a bucket at most, and of the first one: small, so that the first all-reduce starts early. torch's defaults. */
export const defaultBucketCapMb = 25;
export const firstBucketCapMb = 1;

/**
 * Groups gradients into buckets that are reduced as one (torch's compute_bucket_assignment_by_size): in the given order, a bucket is closed when
 * it has reached its cap, so that one larger gradient still lies in one bucket.
 *
 * @param bytes size of each gradient, in the order in which they become ready
 * @returns the positions in each bucket
 */
export function assignBuckets(bytes: readonly number[], firstCap: number, cap: number): number[][] {
  const buckets: number[][] = [];
  let open: number[] = [];
  let filled = 0;
  for (const [position, size] of bytes.entries()) {
    open.push(position);
    filled += size;
    if (filled >= (buckets.length === 0 ? firstCap : cap)) {
      buckets.push(open);
      open = [];
      filled = 0;
    }
  }
  return open.length === 0 ? buckets : [...buckets, open];
}
