import { interpolate, interpolateOptions, type InterpolateOptions } from '../functional/interpolation.ts';
import { requireOptions } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Resizes sequences, images or volumes (torch.nn.Upsample): see `F.interpolate`. */
export class Upsample extends Module {
  readonly #options: InterpolateOptions;

  /** @param options see `F.interpolate` */
  constructor(options: InterpolateOptions) {
    super();
    requireOptions('Upsample', options, interpolateOptions);
    this.#options = options;
  }

  /** [N, C, …] to [N, C, ...size]. */
  forward(input: Tensor): Tensor {
    return interpolate(input, this.#options);
  }
}
