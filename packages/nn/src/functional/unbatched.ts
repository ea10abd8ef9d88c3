import type { Tensor } from '../tensor.ts';

/** Applies a function of [N, C, …] with `axes` axes behind N and C; one sample [C, …] is a batch of one, as in torch. */
export function overBatch(input: Tensor, axes: number, compute: (batch: Tensor) => Tensor): Tensor {
  if (input.shape.length !== axes + 1) return compute(input);
  const result = compute(input.unsqueeze(0));
  return result.view(...result.shape.slice(1));
}
