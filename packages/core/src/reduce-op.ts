import type { DType } from './dtype.ts';

/**
 * How the elements of several ranks are combined, as torch.distributed.ReduceOp.
 *
 * - `SUM`, `PRODUCT`: integers wrap around.
 * - `AVG`: the complete sum, divided once by the number of ranks. Floating point only.
 * - `SUM`, `PRODUCT`, `AVG` of float16 and bfloat16 are computed in float32.
 * - `MIN`, `MAX`: NaN if any rank has NaN, as torch.minimum and torch.maximum.
 * - `BAND`, `BOR`, `BXOR`: bitwise and, or, exclusive or. Integers only.
 */
export const ReduceOp = {
  /** Sum; integers wrap around. */
  SUM: 'SUM',
  /** Sum divided by the number of ranks. Floating point only. */
  AVG: 'AVG',
  /** Product; integers wrap around. */
  PRODUCT: 'PRODUCT',
  /** Least value; NaN if any rank has NaN. */
  MIN: 'MIN',
  /** Greatest value; NaN if any rank has NaN. */
  MAX: 'MAX',
  /** Bitwise and. Integers only. */
  BAND: 'BAND',
  /** Bitwise or. Integers only. */
  BOR: 'BOR',
  /** Bitwise exclusive or. Integers only. */
  BXOR: 'BXOR',
} as const;

/** The name of a reduction, such as `'SUM'`. */
export type ReduceOp = (typeof ReduceOp)[keyof typeof ReduceOp];

const opsOfFloatingPoint: readonly ReduceOp[] = ['SUM', 'AVG', 'PRODUCT', 'MIN', 'MAX'];
const opsOfIntegers: readonly ReduceOp[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'BAND', 'BOR', 'BXOR'];

const opsOf: Readonly<Record<DType, readonly ReduceOp[]>> = {
  float32: opsOfFloatingPoint,
  float64: opsOfFloatingPoint,
  int8: opsOfIntegers,
  uint8: opsOfIntegers,
  int32: opsOfIntegers,
  uint32: opsOfIntegers,
  int64: opsOfIntegers,
  uint64: opsOfIntegers,
  float16: opsOfFloatingPoint,
  bfloat16: opsOfFloatingPoint,
};

/** The reductions that a dtype supports. */
export function reduceOpsFor(dtype: DType): readonly ReduceOp[] {
  return opsOf[dtype];
}
