import type { DType } from './dtype.ts';

/**
 * How elements of several ranks become one, as torch.distributed.ReduceOp.
 *
 * - `SUM`, `PRODUCT`: integers wrap around.
 * - `AVG` divides the sum by the number of ranks once, after the sum is complete. Floating point only: an average of integers is
 *   no integer.
 * - `MIN`, `MAX`: NaN where any rank has NaN, as torch.minimum and torch.maximum.
 * - `BAND`, `BOR`, `BXOR`: bitwise and, or, exclusive or. Integers only.
 */
export const ReduceOp = {
  SUM: 'SUM',
  AVG: 'AVG',
  PRODUCT: 'PRODUCT',
  MIN: 'MIN',
  MAX: 'MAX',
  BAND: 'BAND',
  BOR: 'BOR',
  BXOR: 'BXOR',
} as const;

export type ReduceOp = (typeof ReduceOp)[keyof typeof ReduceOp];

const opsOfFloatingPoint: readonly ReduceOp[] = ['SUM', 'AVG', 'PRODUCT', 'MIN', 'MAX'];
const opsOfIntegers: readonly ReduceOp[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'BAND', 'BOR', 'BXOR'];

/** The reductions that have a meaning for a dtype. */
export function reduceOpsFor(dtype: DType): readonly ReduceOp[] {
  return dtype.startsWith('float') ? opsOfFloatingPoint : opsOfIntegers;
}
