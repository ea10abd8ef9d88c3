import { where } from '../combine.ts';
import type { Tensor } from '../tensor.ts';

/** The elements of one tensor with the gradient of another of its shape, as torch's operators with a backward pass of their own. */
export function withGradientOf(elements: Tensor, other: Tensor): Tensor {
  // 0, but NaN for infinities.
  const none = other.sub(other.detach());
  return elements.detach().add(where(none.eq(0), none, 0));
}
