import { constant } from '../ops/source.ts';
import { withSlopes } from '../ops/with-slope.ts';
import { Tensor } from '../tensor/tensor.ts';

/** The elements of one tensor with the gradient of another of its shape. */
export function withGradientOf(elements: Tensor, other: Tensor): Tensor {
  return new Tensor(withSlopes(elements.value, [other.value, constant(1)]));
}
