/** tensorflow.HistogramProto. */
export interface Histogram {
  min: number;
  max: number;
  num: number;
  sum: number;
  sumSquares: number;
  /** Upper edges of the buckets; the first bucket's own lower edge is the limit of an empty one before it. */
  bucketLimit: number[];
  /** Values in each. */
  bucket: number[];
}

/** TensorBoard's edges: 0, and on either side 1e-12 and every number that is 1.1 times the last, below 1e20 (torch's `bins='tensorflow'`). */
const edges = tensorboardEdges();

function tensorboardEdges(): number[] {
  const positive: number[] = [];
  for (let edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push(edge);
  return [...positive.map((edge) => -edge).reverse(), 0, ...positive];
}

/**
 * The distribution of `values` over TensorBoard's buckets (torch.utils.tensorboard.summary.make_histogram). Values that are not finite are left out; undefined
 * where none is left.
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

/** Bucket i has the values from edge i on and below edge i + 1; the outermost have what lies beyond, too. */
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
 * The buckets from the first to the last that is not empty. Limits are upper edges, so an empty bucket goes in front, whose limit is the lower edge of the first.
 */
function trimmed(counts: Float64Array): Pick<Histogram, 'bucketLimit' | 'bucket'> {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  return {
    bucketLimit: edges.slice(first, last + 2),
    bucket: [0, ...counts.subarray(first, last + 1)],
  };
}
