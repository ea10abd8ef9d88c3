import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { where } from '../tensor/combine.ts';
import { arange } from '../tensor/creation.ts';
import { gatherElements } from '../ops/indexing.ts';
import { checkIndices } from '../ops/own/check-indices.ts';
import { Tensor } from '../tensor/tensor.ts';
import { logsigmoid } from './piecewise-activation.ts';
import { reduced, requireEqualShapes, type ReductionOptions } from './reduction.ts';

/** Options of {@link multiMarginLoss} and of `nn.MultiMarginLoss`. */
export interface MultiMarginLossOptions extends ReductionOptions {
  /** Exponent of each term: 1 or 2. Default: 1. */
  p?: 1 | 2;
  /** The margin. Default: 1. */
  margin?: number;
  /** Weight of each target class, float32 [C]. Default: 1. */
  weight?: Tensor | undefined;
}

/** Options of {@link multilabelSoftMarginLoss} and of `nn.MultiLabelSoftMarginLoss`. */
export interface MultiLabelSoftMarginLossOptions extends ReductionOptions {
  /** Weight of each class, float32 [C]. Default: 1. */
  weight?: Tensor | undefined;
}

/**
 * Mean over the classes of max(0, margin − x[target] + x[class])ᵖ without the target class, reduced
 * (torch.nn.functional.multi_margin_loss).
 *
 * - `input`: [N, C]
 * - `target`: [N], int64, classes from 0 to C − 1
 * @throws ArgumentError if a target is not a class; for computed targets, when the graph runs
 */
export function multiMarginLoss(
  ...given: Call<
    [input: Tensor, target: Tensor, options?: MultiMarginLossOptions | undefined],
    'F.multiMarginLoss'
  >
): Tensor {
  const [givenInput, target, options] = arranged('F.multiMarginLoss', given);
  const [input] = autocastTensors('multiMarginLoss', givenInput);
  if (isNarrow(input)) return roundedOnce([input], (x) => multiMarginLoss(x, target, options));
  const { p = 1, margin = 1, weight, reduction = 'mean' } = options;
  if (![1, 2].includes(p)) throw new ArgumentError(`multiMarginLoss: expected p 1 or 2, got ${String(p)}.`);
  if (
    !isFloat(input) ||
    input.shape.length !== 2 ||
    target.dtype !== 'int64' ||
    target.shape.join() !== String(input.shape[0])
  ) {
    throw new ShapeError(
      `multiMarginLoss: expected an input [N,C] and targets [N], got ${describeType(input)} and ${describeType(target)}.`,
    );
  }
  const classes = input.shape[1];
  const targets = new Tensor(
    checkIndices('multiMarginLoss', 'targets', target.value, { least: 0, count: classes }),
  );
  const isTarget = targets.unsqueeze(1).eq(arange(classes)).float();
  const own = new Tensor(gatherElements(input.value, targets.unsqueeze(1).value, 1));
  const distance = own.neg().add(margin).add(input);
  // 0 for NaN, the result of ∞ − ∞.
  const excess = where(distance.gt(0), distance, 0);
  const terms = (p === 1 ? excess : excess.square()).mul(isTarget.neg().add(1));
  const weighted =
    weight === undefined
      ? terms
      : terms.mul(new Tensor(gatherElements(weight.value, targets.value)).unsqueeze(1));
  return reduced('multiMarginLoss', weighted.sum([1]).div(classes).value, reduction);
}

/**
 * Mean over the classes of the binary cross-entropy of each class's logit, reduced
 * (torch.nn.functional.multilabel_soft_margin_loss).
 *
 * - `input`: [N, C], logits
 * - `target`: [N, C], 0 or 1
 */
export function multilabelSoftMarginLoss(
  ...given: Call<
    [input: Tensor, target: Tensor, options?: MultiLabelSoftMarginLossOptions | undefined],
    'F.multilabelSoftMarginLoss'
  >
): Tensor {
  const [input, target, options] = arranged('F.multilabelSoftMarginLoss', given);
  if (isNarrow(input, target)) {
    return roundedOnce([input, target], (x, t) => multilabelSoftMarginLoss(x, t, options));
  }
  const { weight, reduction = 'mean' } = options;
  requireEqualShapes('multilabelSoftMarginLoss', input, target);
  const present = target.mul(logsigmoid(input));
  const absent = target.neg().add(1).mul(logsigmoid(input.neg()));
  const losses = present.add(absent).neg();
  const weighted = weight === undefined ? losses : losses.mul(weight);
  return reduced('multilabelSoftMarginLoss', weighted.mean([-1]).value, reduction);
}
