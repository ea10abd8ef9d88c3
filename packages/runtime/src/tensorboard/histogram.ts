/** tensorflow.HistogramProto. */
export interface Histogram {
  min: number;
  max: number;
  num: number;
  sum: number;
  sumSquares: number;
  /** Upper edges of the buckets. The first bucket is empty: its limit is the lower edge of the next one. */
  bucketLimit: number[];
  /** Number of values in each bucket. */
  bucket: number[];
}

/** TensorBoard's edges: 0, and ±1e-12 times powers of 1.1, up to ±1e20 (torch's `bins='tensorflow'`). */
const edges = tensorboardEdges();

function tensorboardEdges(): number[] {
  const positive: number[] = [];
  for (let edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push(edge);
  return [...positive.map((edge) => -edge).reverse(), 0, ...positive];
}

/**
 * Computes the histogram of `values` over TensorBoard's buckets
 * (torch.utils.tensorboard.summary.make_histogram). Ignores values that are not finite. Returns undefined if
 * no value is left.
 */
export function histogramOf(values: Iterable<number>): Histogram | undefined {
  const counts = new Float64Array(edges.length - 1);
  const histogram = { min: Infinity, max: -Infinity, num: 0, sum: 0, sumSquares: 0 };
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    histogram.min = Math.min(histogram.min, value);
    histogram.max = Math.max(histogram.max, value);
    histogram.num += 1;
    histogram.sum += value;
    histogram.sumSquares += value * value;
    counts[bucketOf(value)] += 1;
  }
  return histogram.num === 0 ? undefined : { ...histogram, ...trimmed(counts) };
}

/**
 * Bucket i counts values from edge i (inclusive) to edge i + 1 (exclusive). The outermost buckets also count
 * values beyond.
 */
function bucketOf(value: number): number {
  let [low, high] = [0, edges.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (edges[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Removes empty buckets at both ends. Limits are upper edges, so one empty bucket is kept in front: its limit
 * is the lower edge of the first nonempty one.
 */
function trimmed(counts: Float64Array): Pick<Histogram, 'bucketLimit' | 'bucket'> {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  return {
    bucketLimit: edges.slice(first, last + 2),
    bucket: [0, ...counts.subarray(first, last + 1)],
  };
}
