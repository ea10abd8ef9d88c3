import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { checkElements } from '../graph/element-checks.ts';
import { isSameSequence } from '../graph/same-data.ts';
import { checkProbabilities } from '../ops/own/check-probabilities.ts';
import { withSlopes } from '../ops/with-slope.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { Tensor } from '../tensor/tensor.ts';
import { where } from '../tensor/combine.ts';
import { reduced, requireEqualShapes, type Reduction, type ReductionOptions } from './reduction.ts';

/** Options of {@link binaryCrossEntropy} and of `nn.BCELoss`. */
export interface BinaryCrossEntropyOptions extends ReductionOptions {
  /** Weight of each element; broadcast to the input. Default: 1. */
  weight?: Tensor | undefined;
}

/** Options of {@link klDiv} and of `nn.KLDivLoss`. */
export interface KLDivOptions {
  /** 'batchmean': the sum divided by the length of the first dimension, the divergence itself. Default: 'mean', as in torch. */
  reduction?: Reduction | 'batchmean';
  /** If true, the target holds log-probabilities too. Default: `false`. */
  logTarget?: boolean;
}

/** Options of {@link poissonNllLoss} and of `nn.PoissonNLLLoss`. */
export interface PoissonNLLLossOptions extends ReductionOptions {
  /** If true, the input is the logarithm of the rate. Default: `true`. */
  logInput?: boolean;
  /** If true, adds Stirling's approximation of log(target!) where the target is above 1. Default: `false`. */
  full?: boolean;
  /** Added to the rate if `logInput` is false, which keeps the logarithm finite. Default: 1e-8. */
  eps?: number;
}

/** Options of {@link gaussianNllLoss} and of `nn.GaussianNLLLoss`. */
export interface GaussianNLLLossOptions extends ReductionOptions {
  /** If true, adds the constant ½·log 2π. Default: `false`. */
  full?: boolean;
  /** Lower bound of the variance. Default: 1e-6. */
  eps?: number;
}

/**
 * −(t·log p + (1 − t)·log(1 − p))·weight, reduced (torch.nn.functional.binary_cross_entropy). As in torch, logarithms are at
 * least −100, and the gradient is (p − t) / max(p·(1 − p), 1e-12), so that it is finite for saturated probabilities. `binaryCrossEntropyWithLogits` is more precise.
 *
 * - `probabilities`: float32 from 0 to 1
 * - `target`: float32 of the same shape, from 0 to 1
 * @throws ArgumentError if an element is NaN or not from 0 to 1; for computed elements, when the graph runs
 */
export function binaryCrossEntropy(
  ...given: Call<
    [input: Tensor, target: Tensor, options?: BinaryCrossEntropyOptions | undefined],
    'F.binaryCrossEntropy'
  >
): Tensor {
  const [givenProbabilities, givenTarget, options] = arranged('F.binaryCrossEntropy', given);
  const [probabilities, target] = autocastTensors('binaryCrossEntropy', givenProbabilities, givenTarget);
  if (isNarrow(probabilities, target)) {
    return roundedOnce([probabilities, target], (x, t) => binaryCrossEntropy(x, t, options));
  }
  const { weight, reduction = 'mean' } = options;
  requireEqualShapes('binaryCrossEntropy', probabilities, target);
  const [p, t] = [checked('probabilities', probabilities), checked('targets', target)];
  const complement = p.neg().add(1);
  const logarithm = (x: Tensor) => x.log().clamp(-100);
  const positive = t.mul(logarithm(p));
  const negative = t.neg().add(1).mul(logarithm(complement));
  // Saturated probabilities would have slope 0/0 or ∞.
  const slope = p.sub(t).div(p.mul(complement).maximum(1e-12));
  const ofTarget = complement.log().sub(p.log());
  const losses = new Tensor(
    withSlopes(
      positive.add(negative).neg().value,
      [probabilities.value, slope.value],
      [target.value, ofTarget.value],
    ),
  );
  const weighted = weight ? losses.mul(weight) : losses;
  return reduced('binaryCrossEntropy', weighted.value, reduction);
}

/**
 * target·(log target − input), reduced (torch.nn.functional.kl_div): the Kullback–Leibler divergence of the input from the
 * target. Targets of 0 contribute 0.
 *
 * - `input`: log-probabilities
 * - `target`: probabilities of the same shape, or log-probabilities with `logTarget`
 */
export function klDiv(
  ...given: Call<[input: Tensor, target: Tensor, options?: KLDivOptions | undefined], 'F.klDiv'>
): Tensor {
  const [givenInput, givenTarget, options] = arranged('F.klDiv', given);
  const [input, target] = autocastTensors('klDiv', givenInput, givenTarget);
  if (isNarrow(input, target)) {
    return roundedOnce([input, target], (x, t) => klDiv(x, t, options));
  }
  const { reduction = 'mean', logTarget = false } = options;
  requireEqualShapes('klDiv', input, target);
  const losses = logTarget
    ? target.exp().mul(target.sub(input))
    : target.xlogy(target).sub(target.mul(input));
  if (reduction !== 'batchmean') return reduced('klDiv', losses.value, reduction);
  return losses.sum().div(input.shape[0] ?? 1);
}

/**
 * exp input − target·input, reduced (torch.nn.functional.poisson_nll_loss): for counts with a Poisson distribution.
 *
 * - `input`: the logarithm of the rate, or the rate
 * - `target`: counts, float32 of the same shape
 */
export function poissonNllLoss(
  ...given: Call<
    [input: Tensor, target: Tensor, options?: PoissonNLLLossOptions | undefined],
    'F.poissonNllLoss'
  >
): Tensor {
  const [givenInput, givenTarget, options] = arranged('F.poissonNllLoss', given);
  const [input, target] = autocastTensors('poissonNllLoss', givenInput, givenTarget);
  if (isNarrow(input, target)) {
    return roundedOnce([input, target], (x, t) => poissonNllLoss(x, t, options));
  }
  const { logInput = true, full = false, eps = 1e-8, reduction = 'mean' } = options;
  requireEqualShapes('poissonNllLoss', input, target);
  const losses = logInput ? input.exp().sub(target.mul(input)) : input.sub(target.mul(input.add(eps).log()));
  if (!full) return reduced('poissonNllLoss', losses.value, reduction);
  const logarithm = target.mul(2 * Math.PI).log();
  const stirling = target.mul(target.log()).sub(target).add(logarithm.mul(0.5));
  return reduced('poissonNllLoss', losses.add(where(target.gt(1), stirling, 0)).value, reduction);
}

/**
 * ½(log v + (input − target)²/v), reduced (torch.nn.functional.gaussian_nll_loss): for targets with a normal distribution.
 *
 * - `input`: means
 * - `target`: float32 of the same shape, or one that broadcasts
 * - `variance`: of each element: the shape of the input, that shape without the last dimension, or that shape with 1 for one
 *   dimension. As in torch, its gradient also flows where the variance is below `eps`.
 * @throws ArgumentError if a variance is negative; computed variances are not checked
 */
export function gaussianNllLoss(
  ...given: Call<
    [input: Tensor, target: Tensor, variance: Tensor, options?: GaussianNLLLossOptions | undefined],
    'F.gaussianNllLoss'
  >
): Tensor {
  const [input, target, variance, options] = arranged('F.gaussianNllLoss', given);
  if (isNarrow(input, target, variance)) {
    return roundedOnce([input, target, variance], (x, t, v) => gaussianNllLoss(x, t, v, options));
  }
  const { full = false, eps = 1e-6, reduction = 'mean' } = options;
  if (!(eps > 0)) throw new ArgumentError(`gaussianNllLoss: eps must be above 0, got ${eps}.`);
  const ofEach = variancesOf(input, variance);
  const atLeast = where(ofEach.lt(eps), ofEach.sub(ofEach.detach()).add(eps), ofEach);
  const losses = atLeast.log().add(input.sub(target).square().div(atLeast)).mul(0.5);
  const all = full ? losses.add(0.5 * Math.log(2 * Math.PI)) : losses;
  return reduced('gaussianNllLoss', all.value, reduction);
}

/** The variances with a shape that broadcasts to the input. */
function variancesOf({ shape }: Tensor, variance: Tensor): Tensor {
  checkElements(variance.value, (variances) => {
    const negative = variances.find((one) => one < 0);
    if (negative !== undefined) {
      throw new ArgumentError(`gaussianNllLoss: expected variances of at least 0, got ${negative}.`);
    }
  });
  if (isSameSequence(variance.shape, shape.slice(0, -1))) return variance.unsqueeze(-1);
  const others = shape.flatMap((size, axis) => (size === variance.shape[axis] ? [] : [variance.shape[axis]]));
  if (variance.shape.length === shape.length && others.join() in { '': true, 1: true }) return variance;
  throw new ShapeError(
    `gaussianNllLoss: expected variances of the shape [${shape.join()}], with 1 for one dimension or without the last, got ${describeType(variance)}.`,
  );
}

function checked(what: string, elements: Tensor): Tensor {
  return new Tensor(checkProbabilities('binaryCrossEntropy', what, elements.value));
}
