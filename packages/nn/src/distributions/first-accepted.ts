import { where } from '../tensor/combine.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** The first candidate along the first dimension that is accepted; the last one if none is. */
export function firstAccepted(values: Tensor, isAccepted: Tensor): Tensor {
  const last = values.shape[0] - 1;
  let result = values.select(0, last);
  for (let i = last - 1; i >= 0; i -= 1) result = where(isAccepted.select(0, i), values.select(0, i), result);
  return result;
}
