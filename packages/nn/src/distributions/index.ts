// The divergences register themselves.
import './divergences/same-class.ts';
import './divergences/two-classes.ts';

export { Bernoulli } from './bernoulli.ts';
export { Beta } from './beta.ts';
export { Categorical } from './categorical.ts';
export { Cauchy } from './cauchy.ts';
export { Chi2 } from './chi2.ts';
export type { Constraint } from './constraint.ts';
export { Dirichlet } from './dirichlet.ts';
export { Distribution, type SampleOptions, type SampleShape } from './distribution.ts';
export { Exponential } from './exponential.ts';
export { Gamma } from './gamma.ts';
export { Geometric } from './geometric.ts';
export { Gumbel } from './gumbel.ts';
export { HalfCauchy } from './half-cauchy.ts';
export { HalfNormal } from './half-normal.ts';
export { Independent } from './independent.ts';
export { klDivergence, registerKl, type DistributionClass } from './kl.ts';
export { Laplace } from './laplace.ts';
export { LogNormal } from './log-normal.ts';
export { MixtureSameFamily } from './mixture-same-family.ts';
export { Multinomial } from './multinomial.ts';
export { MultivariateNormal } from './multivariate-normal.ts';
export { Normal } from './normal.ts';
export { OneHotCategorical, OneHotCategoricalStraightThrough } from './one-hot-categorical.ts';
export type { DistributionOptions, DistributionParameter } from './parameters.ts';
export { Poisson } from './poisson.ts';
export { StudentT } from './student-t.ts';
export { Transform, type TransformOptions } from './transform.ts';
export { TransformedDistribution } from './transformed-distribution.ts';
export {
  AffineTransform,
  ComposeTransform,
  ExpTransform,
  SigmoidTransform,
  SoftplusTransform,
  TanhTransform,
  type AffineTransformOptions,
} from './transforms.ts';
export { Uniform } from './uniform.ts';
export { setDefaultValidateArgs } from './validation.ts';
