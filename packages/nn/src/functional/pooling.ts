import { ArgumentError } from '../errors.ts';
import { adaptiveAveragePool, averagePool, maxPool } from '../ops/pooling.ts';
import { Tensor } from '../tensor.ts';
import { requireAtLeast, type Pair } from './pair.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Options of {@link maxPool2d} and of `nn.MaxPool2d`. */
export interface MaxPool2dOptions {
  /** Default: the window's size. */
  stride?: Pair;
  /** Padding on each side, at most half of the window. Default: 0. */
  padding?: Pair;
}

export const maxPool2dOptions: OptionNames<MaxPool2dOptions> = { stride: true, padding: true };

/** Largest element of each window of [N, C, H, W] (torch.nn.functional.max_pool2d). */
export function maxPool2d(input: Tensor, kernelSize: Pair, options: MaxPool2dOptions = {}): Tensor {
  requireOptions('maxPool2d', options, maxPool2dOptions);
  const kernelShape = requireAtLeast('maxPool2d: kernelSize', 1, kernelSize);
  const strides = requireAtLeast('maxPool2d: stride', 1, options.stride ?? kernelSize);
  const pads = padsOf('maxPool2d', options.padding ?? 0, kernelShape);
  return new Tensor(maxPool(input.value, { kernelShape, strides, pads }));
}

/** Options of {@link avgPool2d} and of `nn.AvgPool2d`. */
export interface AvgPool2dOptions extends MaxPool2dOptions {
  /** If true, the mean includes padding as zeros. Default: true. */
  countIncludePad?: boolean;
}

export const avgPool2dOptions: OptionNames<AvgPool2dOptions> = { ...maxPool2dOptions, countIncludePad: true };

/** Mean of each window of [N, C, H, W] (torch.nn.functional.avg_pool2d, with ceil_mode off). */
export function avgPool2d(input: Tensor, kernelSize: Pair, options: AvgPool2dOptions = {}): Tensor {
  requireOptions('avgPool2d', options, avgPool2dOptions);
  const kernelShape = requireAtLeast('avgPool2d: kernelSize', 1, kernelSize);
  const strides = requireAtLeast('avgPool2d: stride', 1, options.stride ?? kernelSize);
  const pads = padsOf('avgPool2d', options.padding ?? 0, kernelShape);
  const { countIncludePad = true } = options;
  return new Tensor(averagePool(input.value, { kernelShape, strides, pads, countIncludePad }));
}

/**
 * Averages images of any size to a fixed size (torch.nn.functional.adaptive_avg_pool2d): [N, C, H, W] to
 * [N, C, ...outputSize]. Window i of h covers rows ⌊i·H/h⌋ to ⌈(i + 1)·H/h⌉ of H.
 */
export function adaptiveAvgPool2d(input: Tensor, outputSize: Pair): Tensor {
  const size = requireAtLeast('adaptiveAvgPool2d: outputSize', 1, outputSize);
  return new Tensor(adaptiveAveragePool(input.value, size));
}

/** ONNX's list of pads, equal on opposite sides. */
function padsOf(name: string, padding: Pair, window: readonly [number, number]) {
  const [top, left] = requireAtLeast(`${name}: padding`, 0, padding);
  if (top * 2 > window[0] || left * 2 > window[1]) {
    throw new ArgumentError(
      `${name}: padding must be at most half of the window ${window.join('x')}, got ${top}x${left}.`,
    );
  }
  return [top, left, top, left] as const;
}
