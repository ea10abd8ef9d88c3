import { where } from '../tensor/combine.ts';
import { arange } from '../tensor/creation.ts';
import { rand } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { firstAccepted } from './first-accepted.ts';
import { lgamma, stirlingCorrection } from './special-functions.ts';

/** Rates from which numbers are sampled by rejection. */
const large = 10;
/** Counts with a probability above 10⁻¹⁶ at rates below `large`. */
const counts = 48;
/** At least 3 of 4 candidates are accepted, so that none of them is with a probability below 10⁻⁹. */
const candidates = 16;

/** Poisson numbers of computed rates, of any shape, from random numbers that are drawn now: 33 for each. */
export function samplePoisson(rate: Tensor): Tensor {
  const isSmall = rate.lt(large);
  return where(isSmall, sampleSmall(where(isSmall, rate, 1)), sampleLarge(where(isSmall, large, rate)));
}

/** By inversion of the cumulative distribution. */
function sampleSmall(rate: Tensor): Tensor {
  const count = arange(counts).float();
  const rates = rate.view(-1, 1).clamp(2 ** -126);
  const probabilities = rates
    .log()
    .mul(count)
    .sub(rates)
    .sub(lgamma(count.add(1)))
    .exp();
  return probabilities.multinomial(1, true).float().view(rate.shape);
}

/** By transformed rejection (W. Hörmann, "The transformed rejection method for generating Poisson random variables", PTRS). */
function sampleLarge(rate: Tensor): Tensor {
  const b = rate.sqrt().mul(2.53).add(0.931);
  const a = b.mul(0.02483).sub(0.059);
  const inverseAlpha = b.sub(3.4).reciprocal().mul(1.1328).add(1.1239);
  const bound = b.sub(2).reciprocal().mul(-3.6224).add(0.9277);
  const u = rand([candidates, ...rate.shape]).sub(0.5);
  const v = rand([candidates, ...rate.shape]);
  const distance = u
    .abs()
    .neg()
    .add(0.5)
    .clamp(2 ** -25);
  const count = a.mul(2).div(distance).add(b).mul(u).add(rate).add(0.43).floor();
  const isCentral = distance.ge(0.07).logicalAnd(v.le(bound));
  const isOutside = count.lt(0).logicalOr(distance.lt(0.013).logicalAnd(v.gt(distance)));
  const height = v.log().add(inverseAlpha.log()).sub(a.div(distance.square()).add(b).log());
  const isBelow = height.le(logProbability(count.clamp(0), rate));
  return firstAccepted(count.clamp(0), isCentral.logicalOr(isOutside.logicalNot().logicalAnd(isBelow)));
}

/** The logarithm of the probability of a count, by its distance from the rate, because large terms would cancel. */
function logProbability(count: Tensor, rate: Tensor): Tensor {
  const k = count.clamp(1);
  const excess = k.sub(rate).div(rate);
  const deviance = excess.add(1).mul(excess.log1p()).sub(excess).mul(rate);
  const ofCount = deviance
    .add(
      k
        .mul(2 * Math.PI)
        .log()
        .mul(0.5),
    )
    .add(stirlingCorrection(k))
    .neg();
  return where(count.lt(1), rate.neg(), ofCount);
}
