import { requireOptions, type OptionNames } from '../require-options.ts';
import { checkElements } from '../element-checks.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { describeType } from '../graph/node.ts';
import type { Tensor } from '../tensor.ts';
import { where } from '../combine.ts';
import {
  reduced,
  reductionOptions,
  requireEqualShapes,
  type Reduction,
  type ReductionOptions,
} from './reduction.ts';

/** Options of {@link binaryCrossEntropy} and of `nn.BCELoss`. */
export interface BinaryCrossEntropyOptions extends ReductionOptions {
  /** Weight of each element; broadcast to the input. Default: 1. */
  weight?: Tensor | undefined;
}

export const binaryCrossEntropyOptions: OptionNames<BinaryCrossEntropyOptions> = {
  ...reductionOptions,
  weight: true,
};

/** Options of {@link klDiv} and of `nn.KLDivLoss`. */
export interface KLDivOptions {
  /** 'batchmean': the sum divided by the length of the first dimension, the divergence itself. Default: 'mean', as in torch. */
  reduction?: Reduction | 'batchmean';
  /** Whether the target is log-probabilities too. Default: `false`. */
  logTarget?: boolean;
}

export const klDivOptions: OptionNames<KLDivOptions> = { reduction: true, logTarget: true };

/** Options of {@link poissonNllLoss} and of `nn.PoissonNLLLoss`. */
export interface PoissonNLLLossOptions extends ReductionOptions {
  /** Whether the input is the logarithm of the rate. Default: `true`. */
  logInput?: boolean;
  /** Whether to add Stirling's approximation of log(target!) where the target is above 1. Default: `false`. */
  full?: boolean;
  /** Keeps the logarithm finite if `logInput` is false. Default: 1e-8. */
  eps?: number;
}

export const poissonNllLossOptions: OptionNames<PoissonNLLLossOptions> = {
  ...reductionOptions,
  logInput: true,
  full: true,
  eps: true,
};

/** Options of {@link gaussianNllLoss} and of `nn.GaussianNLLLoss`. */
export interface GaussianNLLLossOptions extends ReductionOptions {
  /** Whether to add the constant ½·log 2π. Default: `false`. */
  full?: boolean;
  /** The smallest variance. Default: 1e-6. */
  eps?: number;
}

export const gaussianNllLossOptions: OptionNames<GaussianNLLLossOptions> = {
  ...reductionOptions,
  full: true,
  eps: true,
};

/**
 * −(t·log p + (1 − t)·log(1 − p))·weight, reduced (torch.nn.functional.binary_cross_entropy). Logarithms are at least −100,
 * as in torch. `binaryCrossEntropyWithLogits` is more precise.
 *
 * @param probabilities float32 from 0 to 1
 * @param target float32 of the same shape, from 0 to 1
 */
export function binaryCrossEntropy(
  probabilities: Tensor,
  target: Tensor,
  options: BinaryCrossEntropyOptions = {},
): Tensor {
  requireOptions('binaryCrossEntropy', options, binaryCrossEntropyOptions);
  const { weight, reduction = 'mean' } = options;
  requireEqualShapes('binaryCrossEntropy', probabilities, target);
  const logarithm = (p: Tensor) => p.log().clamp(-100);
  const positive = target.mul(logarithm(probabilities));
  const negative = target
    .neg()
    .add(1)
    .mul(logarithm(probabilities.neg().add(1)));
  const losses = positive.add(negative).neg();
  const weighted = weight ? losses.mul(weight) : losses;
  return reduced('binaryCrossEntropy', weighted.value, reduction);
}

/**
 * target·(log target − input), reduced (torch.nn.functional.kl_div): the Kullback–Leibler divergence of the input from the
 * target. Targets of 0 contribute 0.
 *
 * @param input log-probabilities
 * @param target probabilities of the same shape, or log-probabilities with `logTarget`
 */
export function klDiv(input: Tensor, target: Tensor, options: KLDivOptions = {}): Tensor {
  requireOptions('klDiv', options, klDivOptions);
  const { reduction = 'mean', logTarget = false } = options;
  requireEqualShapes('klDiv', input, target);
  const entropy = logTarget ? target.exp().mul(target) : target.mul(logarithmOr0(target));
  const losses = entropy.sub((logTarget ? target.exp() : target).mul(input));
  if (reduction !== 'batchmean') return reduced('klDiv', losses.value, reduction);
  return losses.sum().div(input.shape[0] ?? 1);
}

/**
 * exp input − target·input, reduced (torch.nn.functional.poisson_nll_loss): of counts with a Poisson distribution.
 *
 * @param input the logarithm of the rate, or the rate
 * @param target counts, float32 of the same shape
 */
export function poissonNllLoss(input: Tensor, target: Tensor, options: PoissonNLLLossOptions = {}): Tensor {
  requireOptions('poissonNllLoss', options, poissonNllLossOptions);
  const { logInput = true, full = false, eps = 1e-8, reduction = 'mean' } = options;
  requireEqualShapes('poissonNllLoss', input, target);
  const losses = logInput ? input.exp().sub(target.mul(input)) : input.sub(target.mul(input.add(eps).log()));
  if (!full) return reduced('poissonNllLoss', losses.value, reduction);
  const above1 = target.maximum(1);
  const stirling = above1
    .mul(above1.log())
    .sub(above1)
    .add(
      above1
        .mul(2 * Math.PI)
        .log()
        .mul(0.5),
    );
  return reduced('poissonNllLoss', losses.add(where(target.gt(1), stirling, 0)).value, reduction);
}

/**
 * ½(log v + (input − target)²/v), reduced (torch.nn.functional.gaussian_nll_loss): of numbers with a normal distribution.
 *
 * @param input means
 * @param target float32 of the same shape, or one that broadcasts
 * @param variance of each element: the shape of the input, the same without the last dimension, or the same with 1 for one
 *   dimension. Its gradient passes where it is below `eps`, too, as in torch.
 * @throws ArgumentError if a variance is negative; of computed variances, it is not checked
 */
export function gaussianNllLoss(
  input: Tensor,
  target: Tensor,
  variance: Tensor,
  options: GaussianNLLLossOptions = {},
): Tensor {
  requireOptions('gaussianNllLoss', options, gaussianNllLossOptions);
  const { full = false, eps = 1e-6, reduction = 'mean' } = options;
  if (!(eps > 0)) throw new ArgumentError(`gaussianNllLoss: eps must be above 0, got ${eps}.`);
  const ofEach = variancesOf(input, variance);
  const atLeast = ofEach.add(ofEach.clamp(eps).sub(ofEach).detach());
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
  if (variance.shape.join() === shape.slice(0, -1).join()) return variance.unsqueeze(-1);
  const others = shape.flatMap((size, axis) => (size === variance.shape[axis] ? [] : [variance.shape[axis]]));
  if (variance.shape.length === shape.length && others.join() in { '': true, 1: true }) return variance;
  throw new ShapeError(
    `gaussianNllLoss: expected variances of the shape [${shape.join()}], with 1 for one dimension or without the last, got ${describeType(variance)}.`,
  );
}

/** log p, and 0 where p is 0, so that p·log p is 0 there. */
function logarithmOr0(p: Tensor): Tensor {
  const isZero = p.eq(0);
  return where(isZero, 0, where(isZero, 1, p).log());
}
