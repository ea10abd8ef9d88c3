import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import { isTracingSizes } from '../graph/size-tracing.ts';
import { div, mul } from '../ops/elementwise.ts';
import type { PoolAttributes } from '../graph/attributes.ts';
import { averagePool, elementsOfWindows, maxPool, padsForLastWindow } from '../ops/pooling.ts';
import { expand, pad } from '../ops/shape.ts';
import { constant, constantTensor } from '../ops/source.ts';
import { Tensor } from '../tensor/tensor.ts';
import { requireAtLeast, type Pair, type Single, type Sizes, type Triple } from './sizes.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { overBatch, requireChannels } from './unbatched.ts';

/** Options of {@link maxPool2d} and others, and of `nn.MaxPool2d` and others. */
export interface MaxPoolOptions<Size extends Sizes> {
  /** Stride of the window. Default: the kernel size. */
  stride?: Size;
  /** Padding on each side, at most half of the window; never the largest element. Default: 0. */
  padding?: Size;
  /** Distance between the elements of a window. Default: 1. */
  dilation?: Size;
  /** If true, rounds output sizes up: the last window may extend beyond the padding, but starts inside. Default: false. */
  ceilMode?: boolean;
}

/** Options of {@link maxPool1d}. */
export type MaxPool1dOptions = MaxPoolOptions<Single>;
/** Options of {@link maxPool2d}. */
export type MaxPool2dOptions = MaxPoolOptions<Pair>;
/** Options of {@link maxPool3d}. */
export type MaxPool3dOptions = MaxPoolOptions<Triple>;

export const maxPoolOptions: OptionNames<MaxPoolOptions<Sizes>> = {
  stride: true,
  padding: true,
  dilation: true,
  ceilMode: true,
};

/** Largest element of each window of [N, C, L] or [C, L] (torch.nn.functional.max_pool1d). */
export function maxPool1d(
  ...given: Call<[input: Tensor, kernelSize: Single, options?: MaxPool1dOptions | undefined], 'F.maxPool1d'>
): Tensor {
  const [input, kernelSize, options] = arranged('F.maxPool1d', given);
  return poolMax('maxPool1d', 1, input, kernelSize, options);
}

/** Largest element of each window of [N, C, H, W] or [C, H, W] (torch.nn.functional.max_pool2d). */
export function maxPool2d(
  ...given: Call<[input: Tensor, kernelSize: Pair, options?: MaxPool2dOptions | undefined], 'F.maxPool2d'>
): Tensor {
  const [input, kernelSize, options] = arranged('F.maxPool2d', given);
  return poolMax('maxPool2d', 2, input, kernelSize, options);
}

/** Largest element of each window of [N, C, D, H, W] or [C, D, H, W] (torch.nn.functional.max_pool3d). */
export function maxPool3d(
  ...given: Call<[input: Tensor, kernelSize: Triple, options?: MaxPool3dOptions | undefined], 'F.maxPool3d'>
): Tensor {
  const [input, kernelSize, options] = arranged('F.maxPool3d', given);
  return poolMax('maxPool3d', 3, ...autocastTensors('maxPool3d', input), kernelSize, options);
}

/** Options of {@link avgPool2d} and others, and of `nn.AvgPool2d` and others. */
export interface AvgPoolOptions<Size extends Sizes> {
  /** Stride of the window. Default: the kernel size. */
  stride?: Size;
  /** Zeros on each side, at most half of the window. Default: 0. */
  padding?: Size;
  /** If true, rounds output sizes up: the last window may extend beyond the padding, but starts inside. Default: false. */
  ceilMode?: boolean;
  /** If true, the mean includes padding as zeros. Default: true. */
  countIncludePad?: boolean;
  /** Divisor of each window's sum, instead of its number of elements. Default: none. */
  divisorOverride?: number;
}

/** Options of {@link avgPool1d}. */
export type AvgPool1dOptions = Omit<AvgPoolOptions<Single>, 'divisorOverride'>;
/** Options of {@link avgPool2d}. */
export type AvgPool2dOptions = AvgPoolOptions<Pair>;
/** Options of {@link avgPool3d}. */
export type AvgPool3dOptions = AvgPoolOptions<Triple>;

export const avgPoolOptions: OptionNames<AvgPoolOptions<Sizes>> = {
  stride: true,
  padding: true,
  ceilMode: true,
  countIncludePad: true,
  divisorOverride: true,
};

/** Mean of each window of [N, C, L] or [C, L] (torch.nn.functional.avg_pool1d). */
export function avgPool1d(
  ...given: Call<[input: Tensor, kernelSize: Single, options?: AvgPool1dOptions | undefined], 'F.avgPool1d'>
): Tensor {
  const [input, kernelSize, options] = arranged('F.avgPool1d', given);
  return poolAverage('avgPool1d', 1, input, kernelSize, options);
}

/** Mean of each window of [N, C, H, W] or [C, H, W] (torch.nn.functional.avg_pool2d). */
export function avgPool2d(
  ...given: Call<[input: Tensor, kernelSize: Pair, options?: AvgPool2dOptions | undefined], 'F.avgPool2d'>
): Tensor {
  const [input, kernelSize, options] = arranged('F.avgPool2d', given);
  return poolAverage('avgPool2d', 2, input, kernelSize, options);
}

/** Mean of each window of [N, C, D, H, W] or [C, D, H, W] (torch.nn.functional.avg_pool3d). */
export function avgPool3d(
  ...given: Call<[input: Tensor, kernelSize: Triple, options?: AvgPool3dOptions | undefined], 'F.avgPool3d'>
): Tensor {
  const [input, kernelSize, options] = arranged('F.avgPool3d', given);
  return poolAverage('avgPool3d', 3, ...autocastTensors('avgPool3d', input), kernelSize, options);
}

function poolMax(
  name: string,
  axes: number,
  input: Tensor,
  kernelSize: Sizes,
  options: MaxPoolOptions<Sizes>,
): Tensor {
  requireOptions(name, options, maxPoolOptions);
  const dilations = requireAtLeast(`${name}: dilation`, 1, options.dilation ?? 1, axes);
  const window = windowOf(name, axes, kernelSize, options);
  return overBatch(input, axes, (batch) => {
    requireChannels(name, batch);
    const attributes = {
      ...window,
      pads: padsOf(batch, { ...window, dilations }, options.ceilMode ?? false),
    };
    const isDense = dilations.every((dilation) => dilation === 1);
    return new Tensor(maxPool(batch.value, isDense ? attributes : { ...attributes, dilations }));
  });
}

function poolAverage(
  name: string,
  axes: number,
  input: Tensor,
  kernelSize: Sizes,
  options: AvgPoolOptions<Sizes>,
): Tensor {
  requireOptions(name, options, avgPoolOptions);
  const window = windowOf(name, axes, kernelSize, options);
  const { ceilMode = false, countIncludePad = true, divisorOverride } = options;
  if (divisorOverride === 0) throw new ArgumentError(`${name}: divisorOverride must not be 0.`);
  return overBatch(input, axes, (batch) => {
    requireChannels(name, batch);
    const pads = padsOf(batch, { ...window, dilations: window.strides.map(() => 1) }, ceilMode);
    const isExtended = isTracingSizes()
      ? ceilMode
      : pads.slice(axes).some((count, axis) => count !== window.padding[axis]);
    if (!isExtended && divisorOverride === undefined) {
      return new Tensor(averagePool(batch.value, { ...window, pads, countIncludePad }));
    }
    if (isNarrow(batch)) return roundedOnce([batch], (x) => poolAverage(name, axes, x, kernelSize, options));
    const means = averagePool(batch.value, { ...window, pads, countIncludePad: true });
    const size = sizeOf(window.kernelShape);
    if (divisorOverride !== undefined) return new Tensor(mul(means, constant(size / divisorOverride)));
    const [spatial, windows] = [batch.shape.slice(2), means.shape.slice(2)];
    const margins = window.padding.map((count) => (countIncludePad ? count : 0));
    if (isTracingSizes()) return new Tensor(div(means, sharesOf(spatial, margins, { ...window, pads })));
    const factors = elementsOfWindows(spatial, windows, { ...window, pads }, margins).map(
      (count) => size / count,
    );
    return new Tensor(mul(means, constantTensor(windows, factors)));
  });
}

/** The fraction of each window that counts, computed from the sizes when an exported model runs: a mean of ones and zeros. */
function sharesOf(spatial: readonly number[], margins: readonly number[], window: PoolAttributes): Value {
  const { pads } = window;
  const counted = expand(constant(1), [1, 1, ...spatial.map((size, axis) => size + 2 * margins[axis])]);
  const [before, after] = [pads.slice(0, margins.length), pads.slice(margins.length)].map((counts) => [
    ...[0, 0],
    ...counts.map((count, axis) => count - margins[axis]),
  ]);
  const none = pads.map(() => 0);
  return averagePool(pad(counted, before, after), { ...window, pads: none, countIncludePad: true });
}

interface PoolWindow {
  readonly kernelShape: readonly number[];
  readonly strides: readonly number[];
  readonly padding: readonly number[];
}

function windowOf(
  name: string,
  axes: number,
  kernelSize: Sizes,
  options: Pick<MaxPoolOptions<Sizes>, 'stride' | 'padding'>,
): PoolWindow {
  const kernelShape = requireAtLeast(`${name}: kernelSize`, 1, kernelSize, axes);
  const strides = requireAtLeast(`${name}: stride`, 1, options.stride ?? kernelSize, axes);
  const padding = requireAtLeast(`${name}: padding`, 0, options.padding ?? 0, axes);
  if (padding.some((pad, axis) => pad * 2 > kernelShape[axis])) {
    throw new ArgumentError(
      `${name}: padding must be at most half of the window ${kernelShape.join('x')}, got ${padding.join('x')}.`,
    );
  }
  return { kernelShape, strides, padding };
}

/** ONNX's list of pads: equal on opposite sides, but longer at the end where `ceilMode` adds a window. */
function padsOf(
  batch: Tensor,
  { kernelShape, strides, padding, dilations }: PoolWindow & { readonly dilations: readonly number[] },
  ceilMode: boolean,
): number[] {
  const pads = [...padding, ...padding];
  if (!ceilMode) return pads;
  const reach = kernelShape.map((size, axis) => dilations[axis] * (size - 1) + 1);
  return padsForLastWindow(batch.shape.slice(2), { reach, strides, pads });
}
