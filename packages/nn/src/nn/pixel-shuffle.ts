import { pixelShuffle, pixelUnshuffle } from '../functional/pixel-shuffle.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Moves channels into pixels (torch.nn.PixelShuffle): see `F.pixelShuffle`. */
export class PixelShuffle extends Module {
  readonly #factor: number;

  /** @param upscaleFactor r: rows and columns become r times as many, channels 1/r² */
  constructor(upscaleFactor: number) {
    super();
    requirePositiveInteger('PixelShuffle', { upscaleFactor });
    this.#factor = upscaleFactor;
  }

  /** [..., C·r², H, W] to [..., C, H·r, W·r]. */
  forward(input: Tensor): Tensor {
    return pixelShuffle(input, this.#factor);
  }
}

/** Moves pixels into channels (torch.nn.PixelUnshuffle): see `F.pixelUnshuffle`. */
export class PixelUnshuffle extends Module {
  readonly #factor: number;

  /** @param downscaleFactor r: channels become r² times as many, rows and columns 1/r */
  constructor(downscaleFactor: number) {
    super();
    requirePositiveInteger('PixelUnshuffle', { downscaleFactor });
    this.#factor = downscaleFactor;
  }

  /** [..., C, H·r, W·r] to [..., C·r², H, W]. */
  forward(input: Tensor): Tensor {
    return pixelUnshuffle(input, this.#factor);
  }
}
