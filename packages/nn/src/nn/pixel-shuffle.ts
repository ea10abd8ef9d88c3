import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { pixelShuffle, pixelUnshuffle } from '../functional/pixel-shuffle.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Moves channels into pixels (torch.nn.PixelShuffle): see `F.pixelShuffle`. */
export class PixelShuffle extends Module {
  readonly #factor: number;

  /** - `upscaleFactor`: r: multiplies rows and columns by r, divides channels by r² */
  constructor(...given: Call<[upscaleFactor: number], 'nn.PixelShuffle'>) {
    const [upscaleFactor] = arranged('nn.PixelShuffle', given);
    super();
    requirePositiveInteger('PixelShuffle', { upscaleFactor });
    this.#factor = upscaleFactor;
  }

  /** [..., C·r², H, W] to [..., C, H·r, W·r]. */
  forward(input: Tensor): Tensor {
    return pixelShuffle(input, this.#factor);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { upscale_factor: this.#factor });
  }
}

/** Moves pixels into channels (torch.nn.PixelUnshuffle): see `F.pixelUnshuffle`. */
export class PixelUnshuffle extends Module {
  readonly #factor: number;

  /** - `downscaleFactor`: r: multiplies channels by r², divides rows and columns by r */
  constructor(...given: Call<[downscaleFactor: number], 'nn.PixelUnshuffle'>) {
    const [downscaleFactor] = arranged('nn.PixelUnshuffle', given);
    super();
    requirePositiveInteger('PixelUnshuffle', { downscaleFactor });
    this.#factor = downscaleFactor;
  }

  /** [..., C, H·r, W·r] to [..., C·r², H, W]. */
  forward(input: Tensor): Tensor {
    return pixelUnshuffle(input, this.#factor);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { downscale_factor: this.#factor });
  }
}
