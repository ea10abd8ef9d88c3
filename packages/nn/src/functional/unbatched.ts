import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Applies a function of [N, C, …] with `axes` axes after N and C; one sample [C, …] is a batch of one, as in torch. */
export function overBatch(input: Tensor, axes: number, compute: (batch: Tensor) => Tensor): Tensor {
  if (input.shape.length !== axes + 1) return compute(input);
  const result = compute(input.unsqueeze(0));
  return result.view(...result.shape.slice(1));
}

/** @throws ShapeError if a batch [N, C, …] has no channel */
export function requireChannels(name: string, batch: Tensor): void {
  if (batch.shape[1] !== 0) return;
  throw new ShapeError(`${name}: expected at least one channel, got ${describeType(batch)}.`);
}
