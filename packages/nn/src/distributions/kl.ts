import { ArgumentError } from '../errors/errors.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Distribution } from './distribution.ts';

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
