import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import {
  conv1d,
  conv2d,
  conv3d,
  convPads,
  type Conv1dOptions,
  type Conv2dOptions,
  type Conv3dOptions,
  type ConvOptions,
} from '../functional/convolution.ts';
import { pad } from '../functional/padding.ts';
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
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Padding of a convolution's input: zeros, or one of the modes of `F.pad`. */
export type ConvPaddingMode = 'zeros' | 'reflect' | 'replicate' | 'circular';

/** Options of {@link Conv1d}, {@link Conv2d} and {@link Conv3d}. */
export interface ConvModuleOptions<Size extends Sizes> extends ConvOptions<Size> {
  /** If true, adds a learned bias. Default: true. */
  bias?: boolean;
  /** Padding mode. Default: 'zeros'. */
  paddingMode?: ConvPaddingMode;
}

/** Options of {@link Conv1d}. */
export type Conv1dModuleOptions = ConvModuleOptions<Single>;
/** Options of {@link Conv2d}. */
export type Conv2dModuleOptions = ConvModuleOptions<Pair>;
/** Options of {@link Conv3d}. */
export type Conv3dModuleOptions = ConvModuleOptions<Triple>;

/** Convolutions of images of one, two and three axes. */
export abstract class Conv<Size extends Sizes = Sizes> extends Module {
  /** [outChannels, inChannels / groups, ...kernelSize] */
  readonly weight: Parameter;
  /** [outChannels] */
  readonly bias: Parameter | undefined;
  readonly #options: ConvOptions<Size>;
  readonly #around: Around | undefined;
  /** As given: `#options` has no padding if the input is padded by `#around`. */
  readonly #given: ConvModuleOptions<Size>;

  constructor(
    ...given: Call<
      [
        inChannels: number,
        outChannels: number,
        kernelSize: Size,
        options?: ConvModuleOptions<Size> | undefined,
      ],
      'nn.Conv'
    >
  ) {
    const [inChannels, outChannels, kernelSize, options] = arranged('nn.Conv', given, new.target.name);
    super();
    const name = this.constructor.name;

    const { bias = true, paddingMode = 'zeros', ...ofConvolution } = options;
    const { groups = 1 } = ofConvolution;
    requirePositiveInteger(name, { inChannels, outChannels, groups });
    const kernel = requireAtLeast(`${name}: kernelSize`, 1, kernelSize, this.axes());
    requireGroups(name, { groups, inChannels, outChannels });
    const fanIn = (inChannels / groups) * kernel.reduce((size, length) => size * length, 1);
    this.#options = paddingMode === 'zeros' ? ofConvolution : { ...ofConvolution, padding: 'valid' };
    this.#given = options;
    this.#around = aroundOf(name, kernel, paddingMode, ofConvolution);
    this.weight = uniformByFanIn([outChannels, inChannels / groups, ...kernel], fanIn);
    this.bias = bias ? uniformByFanIn([outChannels], fanIn) : undefined;
  }

  /** Steps of the kernel. */
  get stride(): Size {
    return this.#given.stride ?? (1 as Size);
  }

  /** Padding of the input, as given. */
  get padding(): NonNullable<ConvModuleOptions<Size>['padding']> {
    return this.#given.padding ?? (0 as Size);
  }

  /** Distance of the kernel's elements. */
  get dilation(): Size {
    return this.#given.dilation ?? (1 as Size);
  }

  /** Number of groups of channels. */
  get groups(): number {
    return this.#given.groups ?? 1;
  }

  /** Padding mode. */
  get paddingMode(): ConvPaddingMode {
    return this.#given.paddingMode ?? 'zeros';
  }

  /**
   * Number of dimensions after N and C.
   *
   * @internal
   */
  protected abstract axes(): number;

  /** @internal */
  protected abstract convolve(input: Tensor, options: ConvOptions<Size>): Tensor;

  /** [N, inChannels, …] to [N, outChannels, …], or the same without N. */
  forward(input: Tensor): Tensor {
    const padded = this.#around ? pad(input, this.#around.amounts, { mode: this.#around.mode }) : input;
    return this.convolve(padded, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    const { padding = 0, ...others } = this.#given;
    const [outChannels, inChannels, ...kernel] = this.weight.shape;
    return writeConvolution({
      ...others,
      channels: [inChannels * (others.groups ?? 1), outChannels],
      kernel,
      padding: typeof padding === 'string' ? padding : sizesOf(padding, kernel.length),
      hasBias: this.bias !== undefined,
    });
  }
}

/**
 * Convolution of sequences (torch.nn.Conv1d): [N, inChannels, L] to [N, outChannels, oL].
 * Weight and bias are initialized uniformly in ±1/√(inChannels / groups · k).
 */
export class Conv1d extends Conv<Single> {
  /** @internal */
  protected override axes() {
    return 1;
  }

  /** @internal */
  protected override convolve(input: Tensor, options: Conv1dOptions) {
    return conv1d(input, this.weight, this.bias, options);
  }
}

/**
 * 2-D convolution (torch.nn.Conv2d): [N, inChannels, H, W] to [N, outChannels, oH, oW].
 * Weight and bias are initialized uniformly in ±1/√(inChannels / groups · kH · kW).
 */
export class Conv2d extends Conv<Pair> {
  /** @internal */
  protected override axes() {
    return 2;
  }

  /** @internal */
  protected override convolve(input: Tensor, options: Conv2dOptions) {
    return conv2d(input, this.weight, this.bias, options);
  }
}

/**
 * 3-D convolution (torch.nn.Conv3d): [N, inChannels, D, H, W] to [N, outChannels, oD, oH, oW].
 * Weight and bias are initialized uniformly in ±1/√(inChannels / groups · kD · kH · kW).
 */
export class Conv3d extends Conv<Triple> {
  /** @internal */
  protected override axes() {
    return 3;
  }

  /** @internal */
  protected override convolve(input: Tensor, options: Conv3dOptions) {
    return conv3d(input, this.weight, this.bias, options);
  }
}

/** @throws ArgumentError unless `groups` divides both */
export function requireGroups(
  name: string,
  { groups, inChannels, outChannels }: { groups: number; inChannels: number; outChannels: number },
): void {
  if (inChannels % groups === 0 && outChannels % groups === 0) return;
  throw new ArgumentError(
    `${name}: groups must divide inChannels and outChannels, got ${groups} groups, ${inChannels} inChannels and ${outChannels} outChannels.`,
  );
}

/** Arguments of `pad` for a padding mode other than 'zeros'. */
interface Around {
  readonly mode: Exclude<ConvPaddingMode, 'zeros'>;
  readonly amounts: readonly number[];
}

function aroundOf(
  name: string,
  kernel: readonly number[],
  mode: ConvPaddingMode,
  { padding = 0, stride = 1, dilation = 1 }: ConvOptions<Sizes>,
): Around | undefined {
  if (!['zeros', 'reflect', 'replicate', 'circular'].includes(mode)) {
    throw new ArgumentError(
      `${name}: paddingMode must be 'zeros', 'reflect', 'replicate' or 'circular', got ${JSON.stringify(mode)}.`,
    );
  }
  if (mode === 'zeros') return undefined;
  const axes = kernel.length;
  const strides = requireAtLeast(`${name}: stride`, 1, stride, axes);
  const dilations = requireAtLeast(`${name}: dilation`, 1, dilation, axes);
  const pads = convPads(name, padding, { kernel, strides, dilations });
  // `pad` begins with the last axis.
  const amounts = kernel.flatMap((_, axis) => [pads[axes - 1 - axis], pads[2 * axes - 1 - axis]]);
  return { mode, amounts };
}

/** The arguments of a convolution as torch prints them, without those that are defaults. */
export function writeConvolution({
  channels,
  kernel,
  stride = 1,
  padding,
  dilation = 1,
  outputPadding = 0,
  groups = 1,
  hasBias,
  paddingMode = 'zeros',
}: {
  channels: readonly number[];
  kernel: readonly number[];
  stride?: Sizes;
  padding: string | readonly number[];
  dilation?: Sizes;
  outputPadding?: Sizes;
  groups?: number;
  hasBias: boolean;
  paddingMode?: ConvPaddingMode;
}): string {
  const axes = kernel.length;
  const unless = <T extends string | readonly number[]>(byDefault: number, value: T) =>
    typeof value !== 'string' && value.every((one) => one === byDefault) ? undefined : value;
  return writeArguments(channels, {
    kernel_size: kernel,
    stride: sizesOf(stride, axes),
    padding: unless(0, padding),
    dilation: unless(1, sizesOf(dilation, axes)),
    output_padding: unless(0, sizesOf(outputPadding, axes)),
    groups: groups === 1 ? undefined : groups,
    bias: hasBias ? undefined : false,
    padding_mode: paddingMode === 'zeros' ? undefined : paddingMode,
  });
}
