import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { dependsOnParameter } from '../graph/topology.ts';
import { broadcastShape } from '../ops/broadcast.ts';
import { alongClasses, classLoss } from '../ops/class-loss.ts';
import { add, cast, mul, neg, sub, widened } from '../ops/elementwise.ts';
import { softplus } from '../ops/functions.ts';
import { checkIndices } from '../ops/own/check-indices.ts';
import { softmaxCrossEntropy } from '../ops/own/softmax-cross-entropy.ts';
import { reduceSum } from '../ops/reduction.ts';
import { logSoftmax } from '../ops/softmax.ts';
import { constant, number } from '../ops/source.ts';
import { Tensor } from '../tensor/tensor.ts';
import { reduced, requireEqualShapes, requireReduction, type ReductionOptions } from './reduction.ts';

/** Options of {@link nllLoss} and of `nn.NLLLoss`. */
export interface NLLLossOptions extends ReductionOptions {
  /** Weight of each class, float32 [C]. Default: 1. */
  weight?: Tensor | undefined;
  /** Target value that is ignored and does not contribute to the loss. Default: −100. */
  ignoreIndex?: number;
}

/** Options of {@link crossEntropy} and of `nn.CrossEntropyLoss`. */
export interface CrossEntropyOptions extends NLLLossOptions {
  /** Fraction of each target that is distributed evenly over all classes, from 0 to 1. Default: 0. */
  labelSmoothing?: number;
}

/** Options of {@link binaryCrossEntropyWithLogits} and of `nn.BCEWithLogitsLoss`. */
export interface BCEWithLogitsOptions extends ReductionOptions {
  /** Weight of each element; broadcast to the input. Default: 1. */
  weight?: Tensor | undefined;
  /** Weight of positive targets; broadcast to the input. Default: 1. */
  posWeight?: Tensor | undefined;
}

/**
 * −logProbabilities[n, target[n]], reduced (torch.nn.functional.nll_loss).
 *
 * - `logProbabilities`: [N, C], [N, C, …], or [C] of one sample
 * - `target`: int64 [N], [N, …] or [], classes from 0 to C − 1, or `ignoreIndex`
 * @throws ArgumentError if a target is neither a class nor `ignoreIndex`; for computed targets, when the graph runs
 */
export function nllLoss(
  ...given: Call<[input: Tensor, target: Tensor, options?: NLLLossOptions | undefined], 'F.nllLoss'>
): Tensor {
  const [logProbabilities, target, options] = arranged('F.nllLoss', given);
  if (isOne(logProbabilities, target)) return ofOne(nllLoss, logProbabilities, target, options);
  const kind = { labelSmoothing: 0, isLogits: false };
  const [x] = autocastTensors('nllLoss', logProbabilities);
  if (isNarrow(x)) return roundedOnce([x], (one) => nllLoss(one, target, options));
  return lossOfClasses('nllLoss', x.value, target.value, { ...options, ...kind });
}

/**
 * nllLoss of logSoftmax(logits) along dimension 1 (torch.nn.functional.cross_entropy).
 *
 * - `logits`: [N, C], [N, C, …], or [C] of one sample
 * - `target`: int64 as in `nllLoss`, or float32 probabilities of the logits' shape, which do not support `ignoreIndex`
 * @throws ArgumentError if a target is neither a class nor `ignoreIndex`; for computed targets, when the graph runs
 */
export function crossEntropy(
  ...given: Call<[input: Tensor, target: Tensor, options?: CrossEntropyOptions | undefined], 'F.crossEntropy'>
): Tensor {
  const [logits, target, options] = arranged('F.crossEntropy', given);
  const { labelSmoothing = 0 } = options;
  if (!(labelSmoothing >= 0 && labelSmoothing <= 1)) {
    throw new ArgumentError(`crossEntropy: labelSmoothing must be from 0 to 1, got ${labelSmoothing}.`);
  }
  if (isOne(logits, target)) return ofOne(crossEntropy, logits, target, options);
  const [x, t] = autocastTensors('crossEntropy', logits, target);
  if (isNarrow(x, t)) return roundedOnce([x, t], (one, other) => crossEntropy(one, other, options));
  if (isFloat(t)) return probabilityLoss(x.value, t.value, options);
  const kind = { labelSmoothing, isLogits: true };
  return lossOfClasses('crossEntropy', x.value, target.value, { ...options, ...kind });
}

/** (input − target)², reduced (torch.nn.functional.mse_loss); equal shapes. */
export function mseLoss(
  ...given: Call<[input: Tensor, target: Tensor, options?: ReductionOptions | undefined], 'F.mseLoss'>
): Tensor {
  const [input, target, options] = arranged('F.mseLoss', given);
  const { reduction = 'mean' } = options;
  requireEqualShapes('mseLoss', input, target);
  const [x, t] = autocastTensors('mseLoss', input, target);
  if (isNarrow(x, t)) return roundedOnce([x, t], (one, other) => mseLoss(one, other, options));
  const difference = sub(x.value, t.value);
  return reduced('mseLoss', mul(difference, difference), reduction);
}

/**
 * −(posWeight·t·log σ(x) + (1 − t)·log(1 − σ(x)))·weight, reduced (torch.nn.functional.binary_cross_entropy_with_logits).
 * Computed as posWeight·t·softplus(−x) + (1 − t)·softplus(x), without cancellation: losses and gradients of confident
 * logits keep their relative precision.
 *
 * - `logits`: float32 of any shape
 * - `target`: float32 of the same shape, from 0 to 1
 */
export function binaryCrossEntropyWithLogits(
  ...given: Call<
    [input: Tensor, target: Tensor, options?: BCEWithLogitsOptions | undefined],
    'F.binaryCrossEntropyWithLogits'
  >
): Tensor {
  const [logits, target, options] = arranged('F.binaryCrossEntropyWithLogits', given);
  const { weight, posWeight, reduction = 'mean' } = options;
  requireEqualShapes('binaryCrossEntropyWithLogits', logits, target);
  requireBroadcast('weight', weight, logits);
  requireBroadcast('posWeight', posWeight, logits);
  const both = autocastTensors('binaryCrossEntropyWithLogits', logits, target);
  if (isNarrow(...both)) {
    return roundedOnce(both, (one, other) => binaryCrossEntropyWithLogits(one, other, options));
  }
  const [x, t] = both.map(({ value }) => value);
  const positive = posWeight ? mul(posWeight.value, t) : t;
  const each = add(mul(positive, softplus(neg(x))), mul(sub(constant(1), t), softplus(x)));
  const losses = weight ? mul(each, weight.value) : each;
  return reduced('binaryCrossEntropyWithLogits', losses, reduction);
}

/** True if the input is one sample [C], with its class or with class probabilities. */
function isOne(input: Tensor, target: Tensor): boolean {
  const count = isFloat(target) ? 1 : 0;
  return input.shape.length === 1 && target.shape.length === count;
}

/** The loss of one sample without a batch dimension. */
function ofOne<Options>(
  loss: (input: Tensor, target: Tensor, options: Options) => Tensor,
  input: Tensor,
  target: Tensor,
  options: Options,
): Tensor {
  return loss(input.unsqueeze(0), target.unsqueeze(0), options).view();
}

type ClassLossOptions = NLLLossOptions & { labelSmoothing: number; isLogits: boolean };

/** The losses of class labels, of log-probabilities or, with `isLogits`, of logits. */
function lossOfClasses(
  name: string,
  x: Value,
  target: Value,
  { weight, ignoreIndex = -100, reduction = 'mean', labelSmoothing, isLogits }: ClassLossOptions,
): Tensor {
  requireTargets(name, x, target);
  requireWeight(name, weight, x);
  const classes = checkClasses(name, target, x.shape[1], ignoreIndex);
  requireReduction(name, reduction);
  const options = {
    weight: weight && widened(weight.value),
    smoothing: labelSmoothing > 0 ? number(labelSmoothing) : undefined,
    ignoreIndex,
    reduction,
  };
  if (!isLogits) return new Tensor(classLoss(x, classes, options));
  const isTrained = weight !== undefined && dependsOnParameter(weight.value);
  if (x.shape.length === 2 && !isTrained)
    return new Tensor(cast(softmaxCrossEntropy(x, classes, options), x.dtype));
  return new Tensor(classLoss(logSoftmax(x, 1), classes, options));
}

/** The loss of probabilities: −Σ w·t·logSoftmax(x) over the classes; the mean is over everything else. */
function probabilityLoss(logits: Value, target: Value, options: CrossEntropyOptions): Tensor {
  const { weight, reduction = 'mean', labelSmoothing = 0, ignoreIndex = -100 } = options;
  if (ignoreIndex >= 0) {
    throw new ArgumentError(
      `crossEntropy: expected no ignoreIndex for probabilities, got ${ignoreIndex}. Omit it.`,
    );
  }
  if (logits.shape.length < 2 || logits.shape.join() !== target.shape.join()) {
    throw new ShapeError(
      `crossEntropy: expected logits float32[N,C,…] and probabilities of the same shape or classes int64[N,…], got ${describeType(logits)} and ${describeType(target)}.`,
    );
  }
  requireWeight('crossEntropy', weight, logits);
  const share = number(labelSmoothing / logits.shape[1]);
  const smooth = add(mul(target, number(1 - labelSmoothing)), share);
  const products = mul(logSoftmax(logits, 1), labelSmoothing > 0 ? smooth : target);
  const weighted = weight ? mul(products, alongClasses(weight.value, logits)) : products;
  return reduced('crossEntropy', neg(reduceSum(weighted, [1])), reduction);
}

function requireTargets(name: string, x: Value, target: Value): void {
  const expected = x.shape.toSpliced(1, 1).join();
  if (!isFloat(x) || x.shape.length < 2 || target.dtype !== 'int64' || target.shape.join() !== expected) {
    throw new ShapeError(
      `${name}: expected float32[N,C] or [N,C,…] and int64[N] or [N,…], got ${describeType(x)} and ${describeType(target)}.`,
    );
  }
}

function requireWeight(name: string, weight: Tensor | undefined, x: Value): void {
  if (weight === undefined) return;
  if (!isFloat(weight) || weight.shape.join() !== `${x.shape[1]}`) {
    throw new ShapeError(
      `${name}: expected a weight per class, float32[${x.shape[1]}] for ${describeType(x)}, got ${describeType(weight)}.`,
    );
  }
}

/** Classes in range: ONNX would count a negative class from the last and train on the wrong one. */
function checkClasses(name: string, target: Value, count: number, ignored: number): Value {
  if (!Number.isInteger(ignored) || ignored < -(2 ** 63) || ignored >= 2 ** 63) {
    throw new ArgumentError(`${name}: ignoreIndex must be an integer of 64 bits, got ${ignored}.`);
  }
  return checkIndices(name, 'targets', target, { least: 0, count, ignored });
}

function requireBroadcast(what: string, weight: Tensor | undefined, logits: Tensor): void {
  if (weight === undefined) return;
  const name = 'binaryCrossEntropyWithLogits';
  if (broadcastShape(name, logits.value, weight.value).join() !== logits.shape.join()) {
    throw new ShapeError(
      `${name}: expected a ${what} whose shape broadcasts to the logits ${describeType(logits)}, got ${describeType(weight)}.`,
    );
  }
}
