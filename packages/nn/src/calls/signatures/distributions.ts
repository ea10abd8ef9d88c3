import type { Signature } from '../signature.ts';

/** The constructors of distributions; see {@link Signature}. */
export const distributions = {
  'distributions.Bernoulli': [['probs?', 'logits?'], ['validateArgs?']],
  'distributions.Categorical': [['probs?', 'logits?'], ['validateArgs?']],
  'distributions.Exponential': [['rate'], ['validateArgs?']],
  'distributions.Independent': [['baseDistribution', 'reinterpretedBatchNdims'], ['validateArgs?']],
  'distributions.Laplace': [['loc', 'scale'], ['validateArgs?']],
  'distributions.Normal': [['loc', 'scale'], ['validateArgs?']],
  'distributions.Uniform': [['low', 'high'], ['validateArgs?']],
} as const satisfies Readonly<Record<string, Signature>>;
