import type { Value } from '../graph/node.ts';
import { detach, equal, greater, greaterOrEqual, isNaN, min, not, where } from './elementwise.ts';
import { maximum } from './functions.ts';

/**
 * Limits elements to scalars (torch.clamp of numbers), `least` ≤ `most`. NaN stays, or a limit of NaN must be both limits. The
 * gradient is 0 at the limits and at NaN.
 */
export function clampToScalars(x: Value, least: Value | undefined, most: Value | undefined): Value {
  if (x.dtype !== 'float32') return limited(x, least, most);
  // Of these conditions, none holds for NaN, which is in the last operand of Where then.
  const fixed = limited(detach(x), least, most);
  const below = most === undefined ? x : where(greater(most, x), x, fixed);
  return least === undefined ? below : where(greater(x, least), below, fixed);
}

/** Limits elements to tensors (torch.clamp of tensors). An element at a limit shares its gradient with the limit. */
export function clampToTensors(x: Value, least: Value | undefined, most: Value | undefined): Value {
  const inOrder = limited(x, least, most);
  if (x.dtype !== 'float32' || least === undefined || most === undefined) return inOrder;
  // Limits that are equal leave x its whole gradient; those in the wrong order give the upper one.
  const ofEqual = where(greater(least, x), least, where(greater(x, most), most, x));
  const otherwise = where(equal(least, most), ofEqual, most);
  const isInOrder = not(greaterOrEqual(least, most));
  return where(isNaN(x), x, where(isInOrder, inOrder, otherwise));
}

function limited(x: Value, least: Value | undefined, most: Value | undefined): Value {
  const raised = least === undefined ? x : maximum(x, least);
  return most === undefined ? raised : min(raised, most);
}
