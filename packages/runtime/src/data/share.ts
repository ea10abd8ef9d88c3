/** What becomes of the last samples, which are too few for one more on each rank. */
export type Tail = 'repeat the first' | 'leave out' | 'as they come';

/** One rank's part of an order that all ranks know: every `numReplicas`-th sample from the `rank`-th on. */
export interface Share {
  datasetLength: number;
  numReplicas: number;
  rank: number;
  tail: Tail;
}

/** How many samples the rank has in the rest of an order of which `seen` have been used. */
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

/** Where in the order the rank's `i`-th sample behind the first `seen` is; what is repeated begins at the order's start. */
export function positionOf({ datasetLength, numReplicas, rank }: Share, seen: number, i: number): number {
  return (seen + rank + i * numReplicas) % datasetLength;
}

/** How many samples of the order all ranks have used, when each has used `used` behind the first `seen`, or all that it had. */
export function seenAfter(share: Share, seen: number, used: number): number {
  const most = countOf({ ...share, rank: 0 }, seen);
  return Math.min(share.datasetLength, seen + Math.min(used, most) * share.numReplicas);
}
