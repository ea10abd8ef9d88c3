import { isFloat } from '../dtype.ts';
import type { Value } from '../graph/node.ts';
import { promotedFloat } from '../ops/promotion.ts';
import type { ConversionMethods } from './conversion-methods.ts';

// Functions of several operations. Of bfloat16, they compute in float32 and round only the result, as torch's kernels do.

/** True if an operand is bfloat16. */
export function isNarrow(...operands: readonly ({ readonly value: Value } | undefined)[]): boolean {
  return operands.some((one) => one?.value.dtype === 'bfloat16');
}

/**
 * Computes a function of several operations in float32, and rounds its result to the common dtype of the operands.
 *
 * @param operands tensors; only floats affect the dtype of the result
 * @param compute the function, of the operands with those of bfloat16 in float32
 */
export function roundedOnce<T extends ConversionMethods<T>>(
  operands: readonly T[],
  compute: (...wide: readonly T[]) => T,
): T {
  const result = compute(...operands.map(widened));
  if (!isFloat(result)) return result;
  return result.to(promotedFloat(...operands.map(({ value }) => value)));
}

function widened<T extends ConversionMethods<T>>(tensor: T): T {
  return isNarrow(tensor) ? tensor.float() : tensor;
}
