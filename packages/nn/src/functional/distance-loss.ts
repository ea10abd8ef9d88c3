import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { where } from '../tensor/combine.ts';
import { reduced, requireEqualShapes, type ReductionOptions } from './reduction.ts';

/** Options of {@link smoothL1Loss} and of `nn.SmoothL1Loss`. */
export interface SmoothL1LossOptions extends ReductionOptions {
  /** The difference below which the loss is a square, at least 0. Default: 1. */
  beta?: number;
}

/** Options of {@link huberLoss} and of `nn.HuberLoss`. */
export interface HuberLossOptions extends ReductionOptions {
  /** The difference below which the loss is a square, above 0. Default: 1. */
  delta?: number;
}

/** |input − target|, reduced (torch.nn.functional.l1_loss); equal shapes. */
export function l1Loss(
  ...given: Call<[input: Tensor, target: Tensor, options?: ReductionOptions | undefined], 'F.l1Loss'>
): Tensor {
  const [givenInput, givenTarget, options] = arranged('F.l1Loss', given);
  const [input, target] = autocastTensors('l1Loss', givenInput, givenTarget);
  if (isNarrow(input, target)) return roundedOnce([input, target], (x, t) => l1Loss(x, t, options));
  requireEqualShapes('l1Loss', input, target);
  return reduced('l1Loss', input.sub(target).abs().value, options.reduction ?? 'mean');
}

/**
 * ½d²/beta where the difference d is below beta, else d − ½·beta, reduced (torch.nn.functional.smooth_l1_loss; Girshick,
 * 2015); equal shapes.
 */
export function smoothL1Loss(
  ...given: Call<[input: Tensor, target: Tensor, options?: SmoothL1LossOptions | undefined], 'F.smoothL1Loss'>
): Tensor {
  const [givenInput, givenTarget, options] = arranged('F.smoothL1Loss', given);
  const [input, target] = autocastTensors('smoothL1Loss', givenInput, givenTarget);
  if (isNarrow(input, target)) return roundedOnce([input, target], (x, t) => smoothL1Loss(x, t, options));
  const { beta = 1, reduction = 'mean' } = options;
  if (!(beta >= 0)) throw new ArgumentError(`smoothL1Loss: beta must be at least 0, got ${beta}.`);
  if (beta === 0) return l1Loss(input, target, { reduction });
  requireEqualShapes('smoothL1Loss', input, target);
  const distance = input.sub(target).abs();
  const isFar = distance.ge(beta);
  const losses = where(isFar, distance.sub(beta / 2), squareUnless(isFar, distance).mul(0.5 / beta));
  return reduced('smoothL1Loss', losses.value, reduction);
}

/**
 * ½d² where the difference d is below delta, else delta·(d − ½·delta), reduced (torch.nn.functional.huber_loss; Huber,
 * 1964); equal shapes.
 */
export function huberLoss(
  ...given: Call<[input: Tensor, target: Tensor, options?: HuberLossOptions | undefined], 'F.huberLoss'>
): Tensor {
  const [givenInput, givenTarget, options] = arranged('F.huberLoss', given);
  const [input, target] = autocastTensors('huberLoss', givenInput, givenTarget);
  if (isNarrow(input, target)) return roundedOnce([input, target], (x, t) => huberLoss(x, t, options));
  const { delta = 1, reduction = 'mean' } = options;
  if (!(delta > 0)) throw new ArgumentError(`huberLoss: delta must be above 0, got ${delta}.`);
  requireEqualShapes('huberLoss', input, target);
  const distance = input.sub(target).abs();
  const isFar = distance.ge(delta);
  const losses = where(isFar, distance.sub(delta / 2).mul(delta), squareUnless(isFar, distance).mul(0.5));
  return reduced('huberLoss', losses.value, reduction);
}

/** d² of distances that are not far. An infinite one would have the gradient 0·∞, although its square is not read. */
function squareUnless(isFar: Tensor, distance: Tensor): Tensor {
  return where(isFar, 0, distance).square();
}
