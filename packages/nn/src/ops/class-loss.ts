import type { Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import type { LossReduction } from '../graph/attributes.ts';
import { add, div, equal, mul, neg, sub, where } from './elementwise.ts';
import { gatherElements } from './indexing.ts';
import { reduceMean, reduceSum } from './reduction.ts';
import { reshape, unsqueeze } from './shape.ts';
import { constant, int64Constant } from './source.ts';
import { negativeLogLikelihood } from './softmax.ts';

export interface ClassLoss {
  /** Weight of each class, [C]. Default: 1. */
  readonly weight?: Value | undefined;
  /** Fraction of each target that is distributed evenly over all classes. Default: 0. */
  readonly smoothing?: Value | undefined;
  /** A class that is ignored. */
  readonly ignoreIndex: number;
  readonly reduction: LossReduction;
}

/**
 * The loss of classes: (1 − s)·w[t]·(−x[t]) + s/C·Σ w·(−x), s the smoothing; the mean divides by Σ w[t].
 *
 * @param x log-probabilities [N, C, …]
 * @param target int64 [N, …]
 */
export function classLoss(x: Value, target: Value, options: ClassLoss): Value {
  const { weight, smoothing, ignoreIndex, reduction } = options;
  const plain = weight === undefined && smoothing === undefined && x.shape.length === 2;
  if (plain && reduction === 'mean') return negativeLogLikelihood(x, target, ignoreIndex);

  const ignored = equal(target, int64Constant([], [ignoreIndex]));
  // An ignored target may be out of range: index 0 is read instead, and its loss is masked.
  const classes = where(ignored, int64Constant([], [0]), target);
  const counts = weight ? elementsAt(weight, classes) : constant(1);
  const picked = neg(mul(ofEachRow(x, classes), counts));
  const each = smoothing === undefined ? picked : smoothed(picked, x, weight, smoothing);
  const losses = where(ignored, constant(0), each);
  if (reduction !== 'mean') return reduced(losses, reduction);
  return div(reduceSum(losses), reduceSum(where(ignored, constant(0), counts)));
}

/** The mean or the sum of losses, or all of them. */
export function reduced(losses: Value, reduction: LossReduction): Value {
  switch (reduction) {
    case 'mean':
      return reduceMean(losses);
    case 'sum':
      return reduceSum(losses);
    case 'none':
      return losses;
  }
}

/** Values [C] reshaped to [1, C, 1, …], with as many dimensions as `like`. */
export function alongClasses(values: Value, like: Value): Value {
  return reshape(
    values,
    like.shape.map((size, axis) => (axis === 1 ? size : 1)),
  );
}

function smoothed(picked: Value, x: Value, weight: Value | undefined, smoothing: Value): Value {
  const ofAllClasses = neg(reduceSum(weight ? mul(x, alongClasses(weight, x)) : x, [1]));
  const share = mul(ofAllClasses, div(smoothing, constant(x.shape[1])));
  return add(mul(picked, sub(constant(1), smoothing)), share);
}

/** Selects from x [N, C, …] the elements at classes [N, …]. */
function ofEachRow(x: Value, classes: Value): Value {
  return reshape(gatherElements(x, unsqueeze(classes, 1), 1), classes.shape);
}

/** Selects from values [C] the elements at classes of any shape. */
function elementsAt(values: Value, classes: Value): Value {
  return reshape(gatherElements(values, reshape(classes, [sizeOf(classes.shape)])), classes.shape);
}
