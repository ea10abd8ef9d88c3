import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { interpolate, type InterpolateOptions } from '../functional/interpolation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Resizes sequences, images or volumes (torch.nn.Upsample): see `F.interpolate`. */
export class Upsample extends Module {
  readonly #options: InterpolateOptions;

  /** - `options`: see `F.interpolate` */
  constructor(...given: Call<[options: InterpolateOptions], 'nn.Upsample'>) {
    const [options] = arranged('nn.Upsample', given);
    super();

    this.#options = options;
  }

  /** [N, C, …] to [N, C, ...size]. */
  forward(input: Tensor): Tensor {
    return interpolate(input, this.#options);
  }
}
