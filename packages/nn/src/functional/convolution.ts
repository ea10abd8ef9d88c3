import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { ArgumentError } from '../errors/errors.ts';
import { conv } from '../ops/convolution.ts';
import { Tensor } from '../tensor/tensor.ts';
import { requireAtLeast, type Pair, type Single, type Sizes, type Triple } from './sizes.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { overBatch } from './unbatched.ts';

/** Options of {@link conv1d}, {@link conv2d} and {@link conv3d}. */
export interface ConvOptions<Size extends Sizes> {
  /** Default: 1. */
  stride?: Size;
  /**
   * Zeros on each side. 'same' keeps the image's size (stride 1 only), with one more zero at the end if the total is odd;
   * 'valid' is 0. Default: 0.
   */
  padding?: Size | 'same' | 'valid';
  /** Distance between kernel elements. Default: 1. */
  dilation?: Size;
  /** Number of independent channel groups. Default: 1. */
  groups?: number;
}

/** Options of {@link conv1d}. */
export type Conv1dOptions = ConvOptions<Single>;
/** Options of {@link conv2d}. */
export type Conv2dOptions = ConvOptions<Pair>;
/** Options of {@link conv3d}. */
export type Conv3dOptions = ConvOptions<Triple>;

export const convOptions: OptionNames<ConvOptions<Sizes>> = {
  stride: true,
  padding: true,
  dilation: true,
  groups: true,
};

/**
 * Convolution of sequences (torch.nn.functional.conv1d).
 *
 * - `input`: [N, C, L] or [C, L]
 * - `weight`: [M, C / groups, k]
 * - `bias`: [M]
 */
export function conv1d(
  ...given: Call<
    [input: Tensor, weight: Tensor, bias?: Tensor | undefined, options?: Conv1dOptions | undefined],
    'F.conv1d'
  >
): Tensor {
  const [input, weight, bias, options] = arranged('F.conv1d', given);
  return convolve('conv1d', 1, input, weight, bias, options);
}

/**
 * 2-D convolution (torch.nn.functional.conv2d).
 *
 * - `input`: [N, C, H, W] or [C, H, W]
 * - `weight`: [M, C / groups, kH, kW]
 * - `bias`: [M]
 */
export function conv2d(
  ...given: Call<
    [input: Tensor, weight: Tensor, bias?: Tensor | undefined, options?: Conv2dOptions | undefined],
    'F.conv2d'
  >
): Tensor {
  const [input, weight, bias, options] = arranged('F.conv2d', given);
  return convolve('conv2d', 2, input, weight, bias, options);
}

/**
 * 3-D convolution (torch.nn.functional.conv3d).
 *
 * - `input`: [N, C, D, H, W] or [C, D, H, W]
 * - `weight`: [M, C / groups, kD, kH, kW]
 * - `bias`: [M]
 */
export function conv3d(
  ...given: Call<
    [input: Tensor, weight: Tensor, bias?: Tensor | undefined, options?: Conv3dOptions | undefined],
    'F.conv3d'
  >
): Tensor {
  const [input, weight, bias, options] = arranged('F.conv3d', given);
  return convolve('conv3d', 3, input, weight, bias, options);
}

function convolve(
  name: 'conv1d' | 'conv2d' | 'conv3d',
  axes: number,
  input: Tensor,
  weight: Tensor,
  bias: Tensor | undefined,
  options: ConvOptions<Sizes>,
): Tensor {
  requireOptions(name, options, convOptions);
  const strides = requireAtLeast(`${name}: stride`, 1, options.stride ?? 1, axes);
  const dilations = requireAtLeast(`${name}: dilation`, 1, options.dilation ?? 1, axes);
  const { padding = 0, groups: group = 1 } = options;
  const kernel = Array.from({ length: axes }, (_, axis) => weight.shape[axis + 2] ?? 1);
  const attributes = {
    strides,
    pads: convPads(name, padding, { kernel, strides, dilations }),
    dilations,
    group,
  };
  const [image, kernels, b] = autocastTensors(name, input, weight, bias);
  return overBatch(
    image,
    axes,
    (batch) => new Tensor(conv(batch.value, kernels.value, b?.value, attributes)),
  );
}

/** Along each axis. */
interface ConvWindow {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
}

/** Elements before each axis, then elements after each axis. */
export function convPads(
  name: string,
  padding: Sizes | 'same' | 'valid',
  { kernel, strides, dilations }: ConvWindow,
): number[] {
  if (padding !== 'same') {
    const before = requireAtLeast(`${name}: padding`, 0, padding === 'valid' ? 0 : padding, kernel.length);
    return [...before, ...before];
  }
  if (strides.some((stride) => stride !== 1)) {
    throw new ArgumentError(`${name}: padding 'same' requires a stride of 1, got ${strides.join('x')}.`);
  }
  const totals = dilations.map((dilation, axis) => dilation * (kernel[axis] - 1));
  const before = totals.map((total) => Math.floor(total / 2));
  return [...before, ...totals.map((total, axis) => total - before[axis])];
}
