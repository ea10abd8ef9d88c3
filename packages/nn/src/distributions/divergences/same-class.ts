import { ArgumentError } from '../../errors/errors.ts';
import { softplus } from '../../functional/piecewise-activation.ts';
import { where } from '../../tensor/combine.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { Bernoulli } from '../bernoulli.ts';
import { Beta } from '../beta.ts';
import { Categorical } from '../categorical.ts';
import { Cauchy } from '../cauchy.ts';
import { Dirichlet } from '../dirichlet.ts';
import { Exponential } from '../exponential.ts';
import { Gamma } from '../gamma.ts';
import { Geometric } from '../geometric.ts';
import { Gumbel } from '../gumbel.ts';
import { HalfCauchy } from '../half-cauchy.ts';
import { HalfNormal } from '../half-normal.ts';
import { Independent } from '../independent.ts';
import { klDivergence, registerKl } from '../kl.ts';
import { Laplace } from '../laplace.ts';
import { MultivariateNormal } from '../multivariate-normal.ts';
import { Normal } from '../normal.ts';
import { OneHotCategorical } from '../one-hot-categorical.ts';
import { Poisson } from '../poisson.ts';
import { digamma, eulerGamma, lgamma } from '../special-functions.ts';
import { sumOfLast } from '../sum-of-last.ts';
import { TransformedDistribution } from '../transformed-distribution.ts';
import { ComposeTransform } from '../transforms.ts';
import { Uniform } from '../uniform.ts';

// Divergences of two distributions of one class, as in torch/distributions/kl.py.

/** Probabilities of classes and their logarithms. */
type Categories = Pick<Categorical, 'probs' | 'logits'>;

registerKl(Normal, Normal, (p, q) => {
  const ratio = p.scale.div(q.scale).square();
  const distance = p.loc.sub(q.loc).div(q.scale).square();
  return ratio.add(distance).sub(1).sub(ratio.log()).mul(0.5);
});

registerKl(Laplace, Laplace, (p, q) => {
  const ratio = p.scale.div(q.scale);
  const distance = p.loc.sub(q.loc).abs();
  const near = ratio.mul(distance.div(p.scale).neg().exp());
  return ratio.log().neg().add(distance.div(q.scale)).add(near).sub(1);
});

registerKl(Exponential, Exponential, (p, q) => {
  const ratio = q.rate.div(p.rate);
  return ratio.log().neg().add(ratio).sub(1);
});

registerKl(Uniform, Uniform, (p, q) => {
  const result = q.high.sub(q.low).div(p.high.sub(p.low)).log();
  return where(q.low.gt(p.low).logicalOr(q.high.lt(p.high)), Infinity, result);
});

registerKl(Bernoulli, Bernoulli, (p, q) => {
  const ones = p.probs.mul(softplus(q.logits.neg()).sub(softplus(p.logits.neg())));
  const zeros = p.probs
    .neg()
    .add(1)
    .mul(softplus(q.logits).sub(softplus(p.logits)));
  const one = where(p.probs.eq(0), 0, where(q.probs.eq(0), Infinity, ones));
  return one.add(where(p.probs.eq(1), 0, where(q.probs.eq(1), Infinity, zeros)));
});

registerKl(Categorical, Categorical, ofCategories);

function ofCategories(p: Categories, q: Categories): Tensor {
  const terms = p.probs.mul(p.logits.sub(q.logits));
  const isImpossible = q.probs.eq(0).expand(terms.shape);
  const isIrrelevant = p.probs.eq(0).expand(terms.shape);
  return where(isIrrelevant, 0, where(isImpossible, Infinity, terms)).sum(-1);
}

registerKl(OneHotCategorical, OneHotCategorical, ofCategories);

registerKl(Independent, Independent, (p, q) => {
  if (p.reinterpretedBatchNdims !== q.reinterpretedBatchNdims) {
    throw new ArgumentError(
      `klDivergence: expected equal reinterpretedBatchNdims, got ${p.reinterpretedBatchNdims} and ${q.reinterpretedBatchNdims}.`,
    );
  }
  return sumOfLast(klDivergence(p.baseDist, q.baseDist), p.reinterpretedBatchNdims);
});

registerKl(HalfNormal, HalfNormal, (p, q) => klDivergence(p.baseDist, q.baseDist));
registerKl(HalfCauchy, HalfCauchy, (p, q) => klDivergence(p.baseDist, q.baseDist));

registerKl(TransformedDistribution, TransformedDistribution, (p, q) => {
  if (!new ComposeTransform(p.transforms).equals(new ComposeTransform(q.transforms))) {
    throw new ArgumentError(
      'klDivergence: expected TransformedDistributions with equal transforms, got others. Estimate it as p.logProb(x).sub(q.logProb(x)).mean() with samples x of p.',
    );
  }
  return klDivergence(p.baseDist, q.baseDist);
});

registerKl(Cauchy, Cauchy, (p, q) => {
  const distance = p.scale.add(q.scale).square().add(p.loc.sub(q.loc).square());
  return distance.log().sub(p.scale.mul(q.scale).mul(4).log());
});

registerKl(Gumbel, Gumbel, (p, q) => {
  const ratio = p.scale.div(q.scale);
  const distance = p.loc.sub(q.loc).div(q.scale);
  const tail = lgamma(ratio.add(1)).sub(distance).exp();
  return distance
    .sub(ratio.log())
    .add(ratio.mul(eulerGamma))
    .add(tail)
    .sub(1 + eulerGamma);
});

registerKl(Geometric, Geometric, (p, q) =>
  p.entropy().neg().sub(q.probs.neg().log1p().div(p.probs)).sub(q.logits),
);

registerKl(Poisson, Poisson, (p, q) => p.rate.mul(p.rate.log().sub(q.rate.log())).sub(p.rate.sub(q.rate)));

registerKl(Gamma, Gamma, (p, q) => {
  const rates = q.concentration.mul(p.rate.div(q.rate).log());
  const slopes = p.concentration.sub(q.concentration).mul(digamma(p.concentration));
  return rates
    .add(lgamma(q.concentration))
    .sub(lgamma(p.concentration))
    .add(slopes)
    .add(q.rate.sub(p.rate).mul(p.mean));
});

registerKl(Beta, Beta, (p, q) => {
  const [totalP, totalQ] = [p, q].map((one) => one.concentration1.add(one.concentration0));
  const logBeta = (one: Beta, total: Tensor) =>
    lgamma(one.concentration1).add(lgamma(one.concentration0)).sub(lgamma(total));
  const ofOne = p.concentration1.sub(q.concentration1).mul(digamma(p.concentration1));
  const ofZero = p.concentration0.sub(q.concentration0).mul(digamma(p.concentration0));
  const ofTotal = totalQ.sub(totalP).mul(digamma(totalP));
  return logBeta(q, totalQ).sub(logBeta(p, totalP)).add(ofOne).add(ofZero).add(ofTotal);
});

registerKl(Dirichlet, Dirichlet, (p, q) => {
  const totalP = p.concentration.sum(-1);
  const totals = lgamma(totalP).sub(lgamma(q.concentration.sum(-1)));
  const each = lgamma(p.concentration).sub(lgamma(q.concentration)).sum(-1);
  const slopes = digamma(p.concentration).sub(digamma(totalP).unsqueeze(-1));
  return totals.sub(each).add(p.concentration.sub(q.concentration).mul(slopes).sum(-1));
});

registerKl(MultivariateNormal, MultivariateNormal, (p, q) => {
  const [size] = p.eventShape;
  if (q.eventShape[0] !== size) {
    throw new ArgumentError(
      `klDivergence: expected MultivariateNormals of equal dimensions, got ${size} and ${q.eventShape[0]}.`,
    );
  }
  const determinants = q.halfLogDeterminant().sub(p.halfLogDeterminant());
  const spread = q.inverseOfScale().matmul(p.scaleTril).square().sum([-2, -1]);
  return determinants.add(spread.add(q.squaredDistance(p.loc)).sub(size).mul(0.5));
});
