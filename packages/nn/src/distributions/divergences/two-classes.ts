import { where } from '../../tensor/combine.ts';
import { fullLike } from '../../tensor/creation.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { Bernoulli } from '../bernoulli.ts';
import { Beta } from '../beta.ts';
import type { Distribution } from '../distribution.ts';
import { Exponential } from '../exponential.ts';
import { Gamma } from '../gamma.ts';
import { Gumbel } from '../gumbel.ts';
import { registerKl, type DistributionClass } from '../kl.ts';
import { Laplace } from '../laplace.ts';
import { Normal } from '../normal.ts';
import { Poisson } from '../poisson.ts';
import { digamma, eulerGamma, lgamma } from '../special-functions.ts';
import { Uniform } from '../uniform.ts';

// Divergences of distributions of two classes, as in torch/distributions/kl.py.

const logOf2Pi = Math.log(2 * Math.PI);

/** First distributions with values that the second ones do not have. */
const infinite: readonly (readonly [
  first: DistributionClass<Distribution>,
  seconds: readonly DistributionClass<Distribution>[],
])[] = [
  [Exponential, [Beta, Uniform]],
  [Gamma, [Beta, Uniform]],
  [Gumbel, [Beta, Exponential, Gamma, Uniform]],
  [Laplace, [Beta, Exponential, Gamma, Uniform]],
  [Normal, [Beta, Exponential, Gamma, Uniform]],
  [Poisson, [Bernoulli]],
];
for (const [first, seconds] of infinite) {
  for (const second of seconds) registerKl(first, second, (p) => fullLike(p.mean, Infinity));
}

/** −E[log q] of a normal distribution q, by the mean and the variance of p. */
function crossEntropyOfNormal(mean: Tensor, variance: Tensor, q: Normal): Tensor {
  const distance = mean.sub(q.loc).square().add(variance);
  return distance.div(q.scale.square()).add(logOf2Pi).mul(0.5).add(q.scale.log());
}

for (const first of [Uniform, Beta, Exponential, Gamma, Gumbel, Laplace]) {
  registerKl(first as DistributionClass<Distribution>, Normal, (p, q) =>
    crossEntropyOfNormal(p.mean, p.variance, q).sub(p.entropy()),
  );
}

/** −E[log q] of a gamma distribution q, by the means of x and of log x. */
function crossEntropyOfGamma(mean: Tensor, meanLog: Tensor, q: Gamma): Tensor {
  return lgamma(q.concentration)
    .sub(q.concentration.mul(q.rate.log()))
    .sub(q.concentration.sub(1).mul(meanLog))
    .add(q.rate.mul(mean));
}

registerKl(Bernoulli, Poisson, (p, q) => p.entropy().add(p.probs.mul(q.rate.log()).sub(q.rate)).neg());

for (const first of [Beta, Gamma]) {
  registerKl(first as DistributionClass<Distribution>, Exponential, (p, q) =>
    q.rate.mul(p.mean).sub(q.rate.log()).sub(p.entropy()),
  );
}

registerKl(Beta, Gamma, (p, q) => {
  const meanLog = digamma(p.concentration1).sub(digamma(p.concentration1.add(p.concentration0)));
  return crossEntropyOfGamma(p.mean, meanLog, q).sub(p.entropy());
});

registerKl(Beta, Uniform, (p, q) => {
  const result = q.high.sub(q.low).log().sub(p.entropy());
  return where(q.low.gt(0).logicalOr(q.high.lt(1)), Infinity, result);
});

registerKl(Exponential, Gamma, (p, q) =>
  crossEntropyOfGamma(p.mean, p.rate.log().add(eulerGamma).neg(), q).sub(p.entropy()),
);

/** −E[log q] of a Gumbel distribution q, by the means of x and of exp(−x / scale). */
function crossEntropyOfGumbel(mean: Tensor, meanExp: Tensor, q: Gumbel): Tensor {
  const shifted = mean.sub(q.loc).div(q.scale);
  return q.scale
    .log()
    .add(shifted)
    .add(meanExp.mul(q.loc.div(q.scale).exp()));
}

registerKl(Exponential, Gumbel, (p, q) => {
  const product = p.rate.mul(q.scale);
  return crossEntropyOfGumbel(p.mean, product.div(product.add(1)), q).sub(p.entropy());
});

registerKl(Gamma, Gumbel, (p, q) => {
  const inverse = p.rate.mul(q.scale).reciprocal();
  const meanExp = p.concentration.neg().mul(inverse.log1p()).exp();
  return crossEntropyOfGumbel(p.mean, meanExp, q).sub(p.entropy());
});

registerKl(Normal, Gumbel, (p, q) => {
  const ratio = p.scale.div(q.scale).square();
  const meanExp = ratio.mul(0.5).sub(p.loc.div(q.scale)).exp();
  return crossEntropyOfGumbel(p.loc, meanExp, q).sub(p.entropy());
});

registerKl(Uniform, Gumbel, (p, q) => {
  const [high, low] = [p.high, p.low].map((end) => end.div(q.scale).neg().exp());
  const meanExp = low.sub(high).mul(q.scale).div(p.high.sub(p.low));
  return crossEntropyOfGumbel(p.mean, meanExp, q).sub(p.entropy());
});

registerKl(Normal, Laplace, (p, q) => {
  const distance = p.loc.sub(q.loc);
  const standard = distance.div(p.scale);
  const near = p.scale.mul(standard.square().mul(-0.5).exp()).mul(Math.sqrt(2 / Math.PI));
  const far = distance.mul(standard.mul(Math.SQRT1_2).erf());
  return near.add(far).div(q.scale).add(q.scale.mul(2).log()).sub(p.entropy());
});

registerKl(Uniform, Exponential, (p, q) => {
  const result = q.rate.mul(p.mean).sub(q.rate.log()).sub(p.entropy());
  return where(p.low.lt(0), Infinity, result);
});

/** The mean of log x over a uniform distribution from low to high. */
function meanLogOf(low: Tensor, high: Tensor): Tensor {
  const width = high.sub(low);
  return high.xlogy(high).sub(low.xlogy(low)).sub(width).div(width);
}

registerKl(Uniform, Gamma, (p, q) => {
  const result = crossEntropyOfGamma(p.mean, meanLogOf(p.low, p.high), q).sub(p.entropy());
  return where(p.low.lt(0), Infinity, result);
});

registerKl(Uniform, Beta, (p, q) => {
  const ofOne = q.concentration1.sub(1).mul(meanLogOf(p.low, p.high));
  const mirrored = meanLogOf(p.high.neg().add(1), p.low.neg().add(1));
  const ofZero = q.concentration0.sub(1).mul(mirrored);
  const total = lgamma(q.concentration1.add(q.concentration0));
  const logBeta = lgamma(q.concentration1).add(lgamma(q.concentration0)).sub(total);
  const result = logBeta.sub(ofOne).sub(ofZero).sub(p.entropy());
  return where(p.high.gt(1).logicalOr(p.low.lt(0)), Infinity, result);
});
