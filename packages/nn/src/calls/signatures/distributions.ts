import type { Signature } from '../signature.ts';

/** The constructors of distributions; see {@link Signature}. */
export const distributions = {
  'distributions.AffineTransform': [
    ['loc', 'scale'],
    ['eventDim?', 'cacheSize?'],
  ],
  'distributions.Bernoulli': [['probs?', 'logits?'], ['validateArgs?']],
  'distributions.Beta': [['concentration1', 'concentration0'], ['validateArgs?']],
  'distributions.Categorical': [['probs?', 'logits?'], ['validateArgs?']],
  'distributions.Cauchy': [['loc', 'scale'], ['validateArgs?']],
  'distributions.Chi2': [['df'], ['validateArgs?']],
  'distributions.ComposeTransform': [['parts'], ['cacheSize?']],
  'distributions.Dirichlet': [['concentration'], ['validateArgs?']],
  'distributions.Exponential': [['rate'], ['validateArgs?']],
  'distributions.Gamma': [['concentration', 'rate'], ['validateArgs?']],
  'distributions.Geometric': [['probs?', 'logits?'], ['validateArgs?']],
  'distributions.Gumbel': [['loc', 'scale'], ['validateArgs?']],
  'distributions.HalfCauchy': [['scale'], ['validateArgs?']],
  'distributions.HalfNormal': [['scale'], ['validateArgs?']],
  'distributions.Independent': [['baseDistribution', 'reinterpretedBatchNdims'], ['validateArgs?']],
  'distributions.Laplace': [['loc', 'scale'], ['validateArgs?']],
  'distributions.LogNormal': [['loc', 'scale'], ['validateArgs?']],
  'distributions.MixtureSameFamily': [['mixtureDistribution', 'componentDistribution'], ['validateArgs?']],
  'distributions.Multinomial': [['totalCount?', 'probs?', 'logits?'], ['validateArgs?']],
  'distributions.MultivariateNormal': [
    ['loc', 'covarianceMatrix?', 'precisionMatrix?', 'scaleTril?'],
    ['validateArgs?'],
  ],
  'distributions.Normal': [['loc', 'scale'], ['validateArgs?']],
  'distributions.OneHotCategorical': [['probs?', 'logits?'], ['validateArgs?']],
  'distributions.OneHotCategoricalStraightThrough': [['probs?', 'logits?'], ['validateArgs?']],
  'distributions.Poisson': [['rate'], ['validateArgs?']],
  'distributions.StudentT': [['df', 'loc?', 'scale?'], ['validateArgs?']],
  'distributions.TransformedDistribution': [['baseDistribution', 'transforms'], ['validateArgs?']],
  'distributions.Uniform': [['low', 'high'], ['validateArgs?']],
} as const satisfies Readonly<Record<string, Signature>>;
