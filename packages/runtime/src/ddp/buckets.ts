/**
 * Caps of a bucket and of the first bucket, in MiB. The first is small so that its all-reduce starts early.
 * torch's defaults.
 */
export const defaultBucketCapMb = 25;
export const firstBucketCapMb = 1;

/**
 * Assigns gradients to buckets (torch: compute_bucket_assignment_by_size). A bucket is closed once it has
 * reached its cap, so a gradient larger than the cap is never split.
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
