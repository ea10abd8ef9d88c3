import { ArgumentError } from './errors.ts';
import { isNode, sizeOf } from './graph/node.ts';
import { conv } from './ops/convolution.ts';
import { gemm } from './ops/linear-algebra.ts';
import { maxPool } from './ops/pooling.ts';
import { logSoftmax as logSoftmaxOf, negativeLogLikelihood } from './ops/softmax.ts';
import { reshape } from './ops/shape.ts';
import { Tensor } from './tensor.ts';

/** One number for both of [height, width], or the two. */
export type Pair = number | readonly [height: number, width: number];

export interface Conv2dOptions {
  /** 1 unless given. */
  stride?: Pair;
  /** Zeros on each side; 0 unless given. */
  padding?: Pair;
  /** Distance between kernel elements; 1 unless given. */
  dilation?: Pair;
  /** Blocks of channels that do not see each other; 1 unless given. */
  groups?: number;
}

export interface MaxPool2dOptions {
  /** The window's size unless given. */
  stride?: Pair;
  /** 0 unless given; at most half of the window. */
  padding?: Pair;
}

/** max(x, 0), elementwise (torch.nn.functional.relu). */
export function relu(input: Tensor): Tensor {
  return input.relu();
}

/** x·Wᵀ + b (torch.nn.functional.linear): input [N, in], weight [out, in], bias [out]; gives [N, out]. */
export function linear(input: Tensor, weight: Tensor, bias?: Tensor): Tensor {
  return new Tensor(gemm(input.value, weight.value, bias?.value, { transB: true }));
}

/**
 * 2-D convolution (torch.nn.functional.conv2d).
 *
 * @param input [N, C, H, W]
 * @param weight [M, C / groups, kH, kW]
 * @param bias [M]
 */
export function conv2d(input: Tensor, weight: Tensor, bias?: Tensor, options: Conv2dOptions = {}): Tensor {
  const strides = requireAtLeast('conv2d: stride', 1, pairOf(options.stride ?? 1));
  const [top, left] = requireAtLeast('conv2d: padding', 0, pairOf(options.padding ?? 0));
  const dilations = requireAtLeast('conv2d: dilation', 1, pairOf(options.dilation ?? 1));
  const attributes = {
    strides,
    pads: [top, left, top, left],
    dilations,
    group: options.groups ?? 1,
  } as const;
  return new Tensor(conv(input.value, weight.value, bias?.value, attributes));
}

/** Largest element of each window of [N, C, H, W] (torch.nn.functional.max_pool2d). */
export function maxPool2d(input: Tensor, kernelSize: Pair, options: MaxPool2dOptions = {}): Tensor {
  const kernelShape = requireAtLeast('maxPool2d: kernelSize', 1, pairOf(kernelSize));
  const strides = requireAtLeast('maxPool2d: stride', 1, pairOf(options.stride ?? kernelSize));
  const [top, left] = requireAtLeast('maxPool2d: padding', 0, pairOf(options.padding ?? 0));
  if (top * 2 > kernelShape[0] || left * 2 > kernelShape[1]) {
    throw new ArgumentError(
      `maxPool2d: padding ${top}x${left} is more than half of the window ${kernelShape.join('x')}.`,
    );
  }
  return new Tensor(maxPool(input.value, { kernelShape, strides, pads: [top, left, top, left] }));
}

/** [N, …] to [N, the rest] (torch.flatten from dimension 1). */
export function flatten(input: Tensor): Tensor {
  return new Tensor(reshape(input.value, [-1, sizeOf(input.shape.slice(1))]));
}

/** x − log Σ exp x along `dim` (torch.nn.functional.log_softmax). */
export function logSoftmax(input: Tensor, dim: number): Tensor {
  return new Tensor(logSoftmaxOf(input.value, dim));
}

/**
 * Mean of −logProbabilities[n, target[n]] (torch.nn.functional.nll_loss): [N, C] and int64 [N] give a scalar.
 *
 * @throws ArgumentError for a target that is not a class from 0 to C − 1
 */
export function nllLoss(logProbabilities: Tensor, target: Tensor): Tensor {
  requireClasses(target, logProbabilities.shape[1]);
  return new Tensor(negativeLogLikelihood(logProbabilities.value, target.value));
}

/** ONNX takes a negative class as counted from the last, and would learn the wrong thing from it. */
function requireClasses({ value: { node } }: Tensor, count: number): void {
  if (!isNode(node, 'Input')) return;
  for (const [row, label] of node.attributes.source.data.entries()) {
    if (label < 0 || label >= count) {
      throw new ArgumentError(
        `nllLoss: target ${label} in row ${row} is not a class from 0 to ${count - 1}; the log-probabilities have ${count} columns.`,
      );
    }
  }
}

/** Both numbers of a pair. */
export function pairOf(pair: Pair): readonly [number, number] {
  return typeof pair === 'number' ? [pair, pair] : pair;
}

function requireAtLeast(
  what: string,
  least: number,
  pair: readonly [number, number],
): readonly [number, number] {
  if (pair.some((value) => !Number.isInteger(value) || value < least)) {
    throw new ArgumentError(`${what} must be integers of at least ${least}, given ${pair.join('x')}.`);
  }
  return pair;
}
