import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
  type ConvTransposeOptions,
} from '../functional/transposed-convolution.ts';
import {
  requireAtLeast,
  sizesOf,
  type Pair,
  type Single,
  type Sizes,
  type Triple,
} from '../functional/sizes.ts';
import { uniformByFanIn } from '../init/uniform.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { requireGroups, writeConvolution } from './conv.ts';
import { Module } from './module.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Options of {@link ConvTranspose1d}, {@link ConvTranspose2d} and {@link ConvTranspose3d}. */
export interface ConvTransposeModuleOptions<Size extends Sizes> extends ConvTransposeOptions<Size> {
  /** If true, adds a learned bias. Default: true. */
  bias?: boolean;
}

/** Transposed convolutions of images of one, two and three axes. */
export abstract class ConvTranspose<Size extends Sizes = Sizes> extends Module {
  /** [inChannels, outChannels / groups, ...kernelSize] */
  readonly weight: Parameter;
  /** [outChannels] */
  readonly bias: Parameter | undefined;
  readonly #options: ConvTransposeOptions<Size>;

  constructor(
    ...given: Call<
      [
        inChannels: number,
        outChannels: number,
        kernelSize: Size,
        options?: ConvTransposeModuleOptions<Size> | undefined,
      ],
      'nn.ConvTranspose'
    >
  ) {
    const [inChannels, outChannels, kernelSize, options] = arranged(
      'nn.ConvTranspose',
      given,
      new.target.name,
    );
    super();
    const name = this.constructor.name;

    const { bias = true, ...ofConvolution } = options;
    const { groups = 1 } = ofConvolution;
    requirePositiveInteger(name, { inChannels, outChannels, groups });
    const kernel = requireAtLeast(`${name}: kernelSize`, 1, kernelSize, this.axes());
    requireGroups(name, { groups, inChannels, outChannels });
    // As in torch, which counts the second dimension of the weight as the fan-in of every convolution.
    const fanIn = (outChannels / groups) * kernel.reduce((size, length) => size * length, 1);
    this.#options = ofConvolution;
    this.weight = uniformByFanIn([inChannels, outChannels / groups, ...kernel], fanIn);
    this.bias = bias ? uniformByFanIn([outChannels], fanIn) : undefined;
  }

  /**
   * Number of dimensions after N and C.
   *
   * @internal
   */
  protected abstract axes(): number;

  /** @internal */
  protected abstract convolve(input: Tensor, options: ConvTransposeOptions<Size>): Tensor;

  /** [N, inChannels, …] to [N, outChannels, …], or the same without N. */
  forward(input: Tensor): Tensor {
    return this.convolve(input, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    const { padding = 0, ...others } = this.#options;
    const [inChannels, outChannels, ...kernel] = this.weight.shape;
    return writeConvolution({
      ...others,
      channels: [inChannels, outChannels * (others.groups ?? 1)],
      kernel,
      padding: sizesOf(padding, kernel.length),
      hasBias: this.bias !== undefined,
    });
  }
}

/**
 * Transposed convolution of sequences (torch.nn.ConvTranspose1d): [N, inChannels, L] to [N, outChannels, oL].
 * Weight and bias are initialized uniformly in ±1/√(outChannels / groups · k).
 */
export class ConvTranspose1d extends ConvTranspose<Single> {
  /** @internal */
  protected override axes() {
    return 1;
  }

  /** @internal */
  protected override convolve(input: Tensor, options: ConvTransposeOptions<Single>) {
    return convTranspose1d(input, this.weight, this.bias, options);
  }
}

/**
 * 2-D transposed convolution (torch.nn.ConvTranspose2d): [N, inChannels, H, W] to [N, outChannels, oH, oW].
 * Weight and bias are initialized uniformly in ±1/√(outChannels / groups · kH · kW).
 */
export class ConvTranspose2d extends ConvTranspose<Pair> {
  /** @internal */
  protected override axes() {
    return 2;
  }

  /** @internal */
  protected override convolve(input: Tensor, options: ConvTransposeOptions<Pair>) {
    return convTranspose2d(input, this.weight, this.bias, options);
  }
}

/**
 * 3-D transposed convolution (torch.nn.ConvTranspose3d): [N, inChannels, D, H, W] to [N, outChannels, oD, oH, oW].
 * Weight and bias are initialized uniformly in ±1/√(outChannels / groups · kD · kH · kW).
 */
export class ConvTranspose3d extends ConvTranspose<Triple> {
  /** @internal */
  protected override axes() {
    return 3;
  }

  /** @internal */
  protected override convolve(input: Tensor, options: ConvTransposeOptions<Triple>) {
    return convTranspose3d(input, this.weight, this.bias, options);
  }
}
