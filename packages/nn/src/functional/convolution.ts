import { ArgumentError } from '../errors.ts';
import { conv } from '../ops/convolution.ts';
import { Tensor } from '../tensor.ts';
import { requireAtLeast, type Pair } from './pair.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Options of {@link conv2d}. */
export interface Conv2dOptions {
  /** Default: 1. */
  stride?: Pair;
  /**
   * Zeros on each side. 'same' keeps the image's size (stride 1 only), with one more zero at the end if the total is odd.
   * Default: 0.
   */
  padding?: Pair | 'same';
  /** Distance between kernel elements. Default: 1. */
  dilation?: Pair;
  /** Number of independent channel groups. Default: 1. */
  groups?: number;
}

export const conv2dOptions: OptionNames<Conv2dOptions> = {
  stride: true,
  padding: true,
  dilation: true,
  groups: true,
};

/**
 * 2-D convolution (torch.nn.functional.conv2d).
 *
 * @param input [N, C, H, W]
 * @param weight [M, C / groups, kH, kW]
 * @param bias [M]
 */
export function conv2d(input: Tensor, weight: Tensor, bias?: Tensor, options: Conv2dOptions = {}): Tensor {
  requireOptions('conv2d', options, conv2dOptions);
  const strides = requireAtLeast('conv2d: stride', 1, options.stride ?? 1);
  const dilations = requireAtLeast('conv2d: dilation', 1, options.dilation ?? 1);
  const attributes = {
    strides,
    pads: padsOf(options.padding ?? 0, weight, strides, dilations),
    dilations,
    group: options.groups ?? 1,
  } as const;
  return new Tensor(conv(input.value, weight.value, bias?.value, attributes));
}

/** ONNX's [top, left, bottom, right]. */
function padsOf(
  padding: Pair | 'same',
  weight: Tensor,
  strides: readonly number[],
  dilations: readonly number[],
): readonly [number, number, number, number] {
  if (padding !== 'same') {
    const [top, left] = requireAtLeast('conv2d: padding', 0, padding);
    return [top, left, top, left];
  }
  if (strides.some((stride) => stride !== 1)) {
    throw new ArgumentError(`conv2d: padding 'same' requires a stride of 1, got ${strides.join('x')}.`);
  }
  const [rows, columns] = dilations.map((dilation, axis) => dilation * ((weight.shape[axis + 2] ?? 1) - 1));
  const [top, left] = [Math.floor(rows / 2), Math.floor(columns / 2)];
  return [top, left, rows - top, columns - left];
}
