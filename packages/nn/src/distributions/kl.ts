import { ArgumentError } from '../errors/errors.ts';
import { softplus } from '../functional/piecewise-activation.ts';
import { where } from '../tensor/combine.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Bernoulli } from './bernoulli.ts';
import { Categorical } from './categorical.ts';
import type { Distribution } from './distribution.ts';
import { Exponential } from './exponential.ts';
import { Independent, sumOfLast } from './independent.ts';
import { Laplace } from './laplace.ts';
import { Normal } from './normal.ts';
import { Uniform } from './uniform.ts';

/** A class of distributions, with any constructor. */
export type DistributionClass<D extends Distribution> = abstract new (...given: never) => D;
type Rule = readonly [
  first: DistributionClass<Distribution>,
  second: DistributionClass<Distribution>,
  divergence: (p: never, q: never) => Tensor,
];

/** Later rules come first. */
const rules: Rule[] = [];

/**
 * The Kullback-Leibler divergence ∫ p·log(p / q), elementwise over the batch (torch.distributions.kl.kl_divergence).
 *
 * @throws ArgumentError if the divergence of this pair of distributions is not known; see {@link registerKl}
 */
export function klDivergence(p: Distribution, q: Distribution): Tensor {
  for (const [first, second, divergence] of rules) {
    if (p instanceof first && q instanceof second) return divergence(p as never, q as never);
  }
  throw new ArgumentError(
    `klDivergence: expected a pair of distributions with a known divergence, got ${p.constructor.name} and ${q.constructor.name}. Register it with distributions.registerKl, or estimate it as p.logProb(x).sub(q.logProb(x)).mean() with samples x of p.`,
  );
}

/** Registers the divergence of a pair of classes and their subclasses (torch.distributions.kl.register_kl), before earlier ones. */
export function registerKl<P extends Distribution, Q extends Distribution>(
  first: DistributionClass<P>,
  second: DistributionClass<Q>,
  divergence: (p: P, q: Q) => Tensor,
): void {
  rules.unshift([first, second, divergence]);
}

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

registerKl(Uniform, Normal, (p, q) => {
  const width = p.high.sub(p.low);
  const common = q.scale
    .mul(Math.sqrt(2 * Math.PI))
    .div(width)
    .log();
  const distance = p.mean.sub(q.loc).div(q.scale).square();
  return common.add(width.div(q.scale).square().div(12).add(distance).mul(0.5));
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

registerKl(Categorical, Categorical, (p, q) => {
  const terms = p.probs.mul(p.logits.sub(q.logits));
  const isImpossible = q.probs.eq(0).expand(terms.shape);
  const isIrrelevant = p.probs.eq(0).expand(terms.shape);
  return where(isIrrelevant, 0, where(isImpossible, Infinity, terms)).sum(-1);
});

registerKl(Independent, Independent, (p, q) => {
  if (p.reinterpretedBatchNdims !== q.reinterpretedBatchNdims) {
    throw new ArgumentError(
      `klDivergence: expected equal reinterpretedBatchNdims, got ${p.reinterpretedBatchNdims} and ${q.reinterpretedBatchNdims}.`,
    );
  }
  return sumOfLast(klDivergence(p.baseDist, q.baseDist), p.reinterpretedBatchNdims);
});
