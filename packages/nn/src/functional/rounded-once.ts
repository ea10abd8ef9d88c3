import type { Tensor } from '../tensor/tensor.ts';

/**
 * A function of several operations. For an input of bfloat16 they are computed in float32, and only the result is rounded, as by
 * torch's kernels.
 */
export function roundedOnce(input: Tensor, compute: (x: Tensor) => Tensor): Tensor {
  return input.dtype === 'bfloat16' ? compute(input.float()).bfloat16() : compute(input);
}
