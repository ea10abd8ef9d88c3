import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { interpolate, type InterpolateOptions } from '../functional/interpolation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { asFloat, quoted, writeArguments } from './repr.ts';

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

  /** @internal */
  override extraRepr(): string {
    const { size, scaleFactor, mode = 'nearest' } = this.#options;
    const factor = typeof scaleFactor === 'number' ? asFloat(scaleFactor) : scaleFactor?.map(asFloat);
    const resized = factor === undefined ? { size: size ?? null } : { scale_factor: factor };
    return writeArguments([], { ...resized, mode: quoted(mode) });
  }
}
