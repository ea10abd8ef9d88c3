/** How to treat the last samples if there are too few for one more per rank. */
export type Tail = 'repeat the first' | 'leave out' | 'as they come';

/** One rank's share of a common order: every `numReplicas`-th sample, starting at index `rank`. */
export interface Share {
  datasetLength: number;
  numReplicas: number;
  rank: number;
  tail: Tail;
}

/** Number of this rank's samples after the first `seen` samples of the order. */
export function countOf({ datasetLength, numReplicas, rank, tail }: Share, seen: number): number {
  const rest = datasetLength - seen;
  switch (tail) {
    case 'repeat the first':
      return Math.ceil(rest / numReplicas);
    case 'leave out':
      return Math.floor(rest / numReplicas);
    case 'as they come':
      return Math.max(0, Math.ceil((rest - rank) / numReplicas));
  }
}

/**
 * Position in the order of this rank's `i`-th sample after the first `seen`. Repeated samples are taken from
 * the start.
 */
export function positionOf({ datasetLength, numReplicas, rank }: Share, seen: number, i: number): number {
  return (seen + rank + i * numReplicas) % datasetLength;
}

/**
 * Number of samples of the order that all ranks have used, if each has used `used` after the first `seen`, or
 * all of its own.
 */
export function seenAfter(share: Share, seen: number, used: number): number {
  const most = countOf({ ...share, rank: 0 }, seen);
  return Math.min(share.datasetLength, seen + Math.min(used, most) * share.numReplicas);
}
