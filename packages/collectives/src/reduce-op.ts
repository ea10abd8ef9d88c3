/**
 * How elements of several ranks become one, as torch.distributed.ReduceOp.
 *
 * `AVG` divides the sum by the number of ranks once, after the sum is complete.
 */
export const ReduceOp = {
  SUM: 'SUM',
  AVG: 'AVG',
} as const;

export type ReduceOp = (typeof ReduceOp)[keyof typeof ReduceOp];
