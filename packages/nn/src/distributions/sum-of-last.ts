import type { Tensor } from '../tensor/tensor.ts';

/** The sum over the last `count` dimensions. */
export function sumOfLast(x: Tensor, count: number): Tensor {
  return count === 0 ? x : x.sum(Array.from({ length: count }, (_, i) => -1 - i));
}
