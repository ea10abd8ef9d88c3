import { isFloat, type DType, type FloatDType } from '../dtype.ts';
import { isNode, type Value } from '../graph/node.ts';

/**
 * The dtype of a result of floating-point operands, as in torch: float32 if an operand is, otherwise bfloat16. A number does
 * not count beside a tensor, nor a tensor without dimensions beside one with dimensions.
 */
export function promotedFloat(...operands: readonly Value[]): FloatDType {
  let highest = -1;
  let isNarrow = false;
  for (const value of operands) {
    const rank = isFloat(value) ? rankOf(value) : -1;
    if (rank < 0 || rank < highest) continue;
    isNarrow = value.dtype === 'bfloat16' && (isNarrow || rank > highest);
    highest = rank;
  }
  return isNarrow ? 'bfloat16' : 'float32';
}

/** The dtype of a result: that of all operands, or `promotedFloat` of floats. Undefined if no dtype fits them. */
export function commonDtype(a: Value, b: Value): DType | undefined {
  if (a.dtype === b.dtype) return a.dtype;
  return isFloat(a) && isFloat(b) ? promotedFloat(a, b) : undefined;
}

/** 2 for an array, 1 for a tensor without dimensions, 0 for a number. */
function rankOf(value: Value): number {
  if (value.shape.length > 0) return 2;
  return isNumber(value) ? 0 : 1;
}

/** True for a number, also negated or in another dtype. */
function isNumber({ node }: Value): boolean {
  if (isNode(node, 'Neg') || isNode(node, 'Cast')) return isNumber(node.inputs[0]);
  return isNode(node, 'Number') || isNode(node, 'Constant');
}
