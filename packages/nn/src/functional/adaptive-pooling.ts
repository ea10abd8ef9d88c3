import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import type { Value } from '../graph/node.ts';
import { adaptiveAveragePool, adaptiveMaxPool } from '../ops/adaptive-pooling.ts';
import { Tensor } from '../tensor/tensor.ts';
import {
  requireAtLeast,
  requireResizable,
  type Pair,
  type Single,
  type Sizes,
  type Triple,
} from './sizes.ts';
import { overBatch, requireChannels } from './unbatched.ts';

/** The size of an adaptive pool's result: one number, or one for each axis; null keeps an axis. */
export type AdaptiveSize<Size extends Sizes> = Size | { readonly [Axis in keyof Size]: Size[Axis] | null };

/** Averages sequences of any length to a fixed length (torch.nn.functional.adaptive_avg_pool1d). Windows: see `adaptiveAvgPool2d`. */
export function adaptiveAvgPool1d(
  ...given: Call<[input: Tensor, outputSize: Single], 'F.adaptiveAvgPool1d'>
): Tensor {
  const [input, outputSize] = arranged('F.adaptiveAvgPool1d', given);
  return averagedTo('adaptiveAvgPool1d', 1, input, outputSize);
}

/**
 * Averages images of any size to a fixed size (torch.nn.functional.adaptive_avg_pool2d): [N, C, H, W] to
 * [N, C, ...outputSize]. Window i of h covers rows ⌊i·H/h⌋ to ⌈(i + 1)·H/h⌉ of H. Unlike in torch, an infinite or NaN element
 * makes its whole row and column NaN if windows differ in size.
 */
export function adaptiveAvgPool2d(
  ...given: Call<[input: Tensor, outputSize: AdaptiveSize<Pair>], 'F.adaptiveAvgPool2d'>
): Tensor {
  const [input, outputSize] = arranged('F.adaptiveAvgPool2d', given);
  return averagedTo('adaptiveAvgPool2d', 2, input, outputSize);
}

/** Averages volumes of any size to a fixed size (torch.nn.functional.adaptive_avg_pool3d). Windows: see `adaptiveAvgPool2d`. */
export function adaptiveAvgPool3d(
  ...given: Call<[input: Tensor, outputSize: AdaptiveSize<Triple>], 'F.adaptiveAvgPool3d'>
): Tensor {
  const [input, outputSize] = arranged('F.adaptiveAvgPool3d', given);
  return averagedTo('adaptiveAvgPool3d', 3, ...autocastTensors('adaptiveAvgPool3d', input), outputSize);
}

/**
 * Max-pools sequences of any length to a fixed length (torch.nn.functional.adaptive_max_pool1d). Windows: see
 * `adaptiveAvgPool2d`.
 */
export function adaptiveMaxPool1d(
  ...given: Call<[input: Tensor, outputSize: Single], 'F.adaptiveMaxPool1d'>
): Tensor {
  const [input, outputSize] = arranged('F.adaptiveMaxPool1d', given);
  return poolTo('adaptiveMaxPool1d', 1, input, outputSize, adaptiveMaxPool);
}

/** Max-pools images of any size to a fixed size (torch.nn.functional.adaptive_max_pool2d). Windows: see `adaptiveAvgPool2d`. */
export function adaptiveMaxPool2d(
  ...given: Call<[input: Tensor, outputSize: AdaptiveSize<Pair>], 'F.adaptiveMaxPool2d'>
): Tensor {
  const [input, outputSize] = arranged('F.adaptiveMaxPool2d', given);
  return poolTo('adaptiveMaxPool2d', 2, input, outputSize, adaptiveMaxPool);
}

/** Max-pools volumes of any size to a fixed size (torch.nn.functional.adaptive_max_pool3d). Windows: see `adaptiveAvgPool2d`. */
export function adaptiveMaxPool3d(
  ...given: Call<[input: Tensor, outputSize: AdaptiveSize<Triple>], 'F.adaptiveMaxPool3d'>
): Tensor {
  const [input, outputSize] = arranged('F.adaptiveMaxPool3d', given);
  return poolTo(
    'adaptiveMaxPool3d',
    3,
    ...autocastTensors('adaptiveMaxPool3d', input),
    outputSize,
    adaptiveMaxPool,
  );
}

function averagedTo(
  name: string,
  axes: number,
  input: Tensor,
  outputSize: Sizes | readonly (number | null)[],
): Tensor {
  return roundedOnce([input], (x) => poolTo(name, axes, x, outputSize, adaptiveAveragePool));
}

function poolTo(
  name: string,
  axes: number,
  input: Tensor,
  outputSize: Sizes | readonly (number | null)[],
  pool: (data: Value, size: readonly number[]) => Value,
): Tensor {
  return overBatch(input, axes, (batch) => {
    const given: unknown = outputSize;
    const kept = Array.isArray(given)
      ? given.map((size: number | null, axis) => size ?? batch.shape[axis + 2])
      : given;
    const sizes = requireAtLeast(`${name}: outputSize`, 1, kept as Sizes, axes);
    requireResizable(name, sizes);
    // As in torch, these two accept batches without channels.
    const isChecked = batch === input && name !== 'adaptiveAvgPool1d' && name !== 'adaptiveAvgPool2d';
    if (isChecked) requireChannels(name, batch);
    return new Tensor(pool(batch.value, sizes));
  });
}
