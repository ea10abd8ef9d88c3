import { isFloat } from '../dtype.ts';
import type { Value } from '../graph/node.ts';
import { add, detach, equal, greater, greaterOrEqual, isNaN, min, not, or, where } from './elementwise.ts';
import { maximum } from './functions.ts';
import { constant } from './source.ts';

/**
 * Limits elements to scalars (torch.clamp of numbers), `least` ≤ `most`. NaN is kept; a limit that is NaN must be given as both
 * limits. The gradient is 0 at the limits and at NaN.
 */
export function clampToScalars(x: Value, least: Value | undefined, most: Value | undefined): Value {
  if (!isFloat(x)) return limited(x, least, most);
  // No condition holds for NaN, which therefore passes through the last operand of Where.
  const fixed = limited(detach(x), least, most);
  const below = most === undefined ? x : where(greater(most, x), x, fixed);
  return least === undefined ? below : where(greater(x, least), below, fixed);
}

/** Limits elements to tensors (torch.clamp of tensors). An element at a limit shares its gradient with the limit. */
export function clampToTensors(x: Value, least: Value | undefined, most: Value | undefined): Value {
  const inOrder = limited(x, least, most);
  if (!isFloat(x) || least === undefined || most === undefined) return inOrder;
  // If both limits are equal, x keeps its whole gradient; if they are in the wrong order, the upper one wins.
  const ofEqual = where(greater(least, x), least, where(greater(x, most), most, x));
  const otherwise = where(equal(least, most), ofEqual, most);
  const isInOrder = not(greaterOrEqual(least, most));
  const limitedToNumbers = where(isInOrder, inOrder, otherwise);
  // Without gradients of the limits: a NaN limit has none, and an element within the other limit keeps its own.
  const isOutside = or(greater(least, x), greater(x, most));
  const toNaN = add(where(isOutside, constant(0), x), constant(NaN));
  const fromNumber = where(or(isNaN(least), isNaN(most)), toNaN, limitedToNumbers);
  // The upper limit also receives the gradient at NaN if it is below the lower one.
  const fromNaN = add(x, where(greater(least, most), most, constant(0)));
  return where(isNaN(x), fromNaN, fromNumber);
}

function limited(x: Value, least: Value | undefined, most: Value | undefined): Value {
  const raised = least === undefined ? x : maximum(x, least);
  return most === undefined ? raised : min(raised, most);
}
