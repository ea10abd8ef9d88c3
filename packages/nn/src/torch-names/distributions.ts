import type { TorchNames } from './torch-names.ts';

/** Names of torch.distributions. */
export const distributionsNames: TorchNames = {
  RelaxedOneHotCategorical: 'F.gumbelSoftmax(logits, { tau })',
};

/** Names of torch.distributions.Distribution. */
export const distributionNames: TorchNames = {
  arg_constraints: 'The constructor checks its arguments.',
  batch_shape: 'distribution.batchShape',
  enumerate_support: 'distribution.enumerateSupport()',
  event_shape: 'distribution.eventShape',
  log_prob: 'distribution.logProb',
  sample_n: 'distribution.sample([n])',
  set_default_validate_args: 'distributions.setDefaultValidateArgs(value)',
};
