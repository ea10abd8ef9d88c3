import { ArgumentError } from '../errors.ts';
import { maxPool } from '../ops/pooling.ts';
import { Tensor } from '../tensor.ts';
import { requireAtLeast, type Pair } from './pair.ts';

export interface MaxPool2dOptions {
  /** The window's size unless given. */
  stride?: Pair;
  /** 0 unless given; at most half of the window. */
  padding?: Pair;
}

/** Largest element of each window of [N, C, H, W] (torch.nn.functional.max_pool2d). */
export function maxPool2d(input: Tensor, kernelSize: Pair, options: MaxPool2dOptions = {}): Tensor {
  const kernelShape = requireAtLeast('maxPool2d: kernelSize', 1, kernelSize);
  const strides = requireAtLeast('maxPool2d: stride', 1, options.stride ?? kernelSize);
  const [top, left] = requireAtLeast('maxPool2d: padding', 0, options.padding ?? 0);
  if (top * 2 > kernelShape[0] || left * 2 > kernelShape[1]) {
    throw new ArgumentError(
      `maxPool2d: padding ${top}x${left} is more than half of the window ${kernelShape.join('x')}.`,
    );
  }
  return new Tensor(maxPool(input.value, { kernelShape, strides, pads: [top, left, top, left] }));
}
