import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType, sizeOf } from '../value-type.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Moves channels into pixels (torch.nn.functional.pixel_shuffle; Shi and others, 2016): [..., C·r², H, W] to
 * [..., C, H·r, W·r].
 */
export function pixelShuffle(
  ...given: Call<[input: Tensor, upscaleFactor: number], 'F.pixelShuffle'>
): Tensor {
  const [input, upscaleFactor] = arranged('F.pixelShuffle', given);
  requireFactor('pixelShuffle', upscaleFactor);
  const [channels, height, width] = input.shape.slice(-3);
  const kept = channels / upscaleFactor ** 2;
  if (input.shape.length < 3 || !Number.isInteger(kept)) {
    throw new ShapeError(
      `pixelShuffle: expected […,C,H,W] with a multiple of ${upscaleFactor ** 2} channels, got ${describeType(input)}.`,
    );
  }
  const leading = input.shape.slice(0, -3);
  const r = upscaleFactor;
  return input
    .view(countOf(input), kept, r, r, height, width)
    .permute(0, 1, 4, 2, 5, 3)
    .view(...leading, kept, height * r, width * r);
}

/** The inverse of `pixelShuffle` (torch.nn.functional.pixel_unshuffle): [..., C, H·r, W·r] to [..., C·r², H, W]. */
export function pixelUnshuffle(
  ...given: Call<[input: Tensor, downscaleFactor: number], 'F.pixelUnshuffle'>
): Tensor {
  const [input, downscaleFactor] = arranged('F.pixelUnshuffle', given);
  requireFactor('pixelUnshuffle', downscaleFactor);
  const [channels, height, width] = input.shape.slice(-3);
  const r = downscaleFactor;
  if (input.shape.length < 3 || height % r !== 0 || width % r !== 0) {
    throw new ShapeError(
      `pixelUnshuffle: expected […,C,H,W] with multiples of ${r} rows and columns, got ${describeType(input)}.`,
    );
  }
  const leading = input.shape.slice(0, -3);
  return input
    .view(countOf(input), channels, height / r, r, width / r, r)
    .permute(0, 1, 3, 5, 2, 4)
    .view(...leading, channels * r * r, height / r, width / r);
}

/** The number of images. It cannot be inferred from an empty tensor. */
function countOf({ shape }: Tensor): number {
  return sizeOf(shape) > 0 ? -1 : sizeOf(shape.slice(0, -3));
}

function requireFactor(name: string, factor: number): void {
  if (!Number.isInteger(factor) || factor < 1) {
    throw new ArgumentError(`${name}: expected a factor of at least 1, got ${factor}.`);
  }
}
