// Replacements for names of smaller parts of torch; see `TorchNames` of @ringrun/nn.

/** Functions of torch that are not methods of tensors. */
export const functionNames = {
  compile: 'compileStep(optimizer, (batch) => loss)',
  as_tensor: 'tensor(data, shape)',
  concat: 'cat(tensors, dim)',
  concatenate: 'cat(tensors, dim)',
  empty: 'zeros(shape)',
  empty_like: 'zerosLike(x)',
  from_numpy: 'tensor(data, shape)',
  get_rng_state: 'defaultGenerator.stateDict()',
  hstack: 'cat(tensors, 1)',
  is_tensor: 'x instanceof Tensor',
  load: 'await dist.loadSafetensors(path)',
  save: 'await dist.openStorage(url)',
  set_num_threads: 'OMP_NUM_THREADS=1',
  set_rng_state: 'defaultGenerator.loadStateDict(state)',
  use_deterministic_algorithms: 'Equal inputs give equal bits in every run.',
  vstack: 'cat(tensors, 0)',
};

/** torch.nn.init */
export const initNames = {};

/** torch.nn.utils */
export const utilsNames = {
  spectral_norm: 'nn.utils.parametrizations.spectralNorm(module)',
  weight_norm: 'nn.utils.parametrizations.weightNorm(module)',
};

/** torch.nn.utils.rnn */
export const rnnNames = {};

/** torch.nn.utils.parametrizations */
export const parametrizationNames = {};

/** torch.optim.lr_scheduler */
export const schedulerNames = {};

/** torch.optim.swa_utils */
export const swaNames = {};

/** torch.utils.data */
export const dataNames = {
  default_collate: 'dist.defaultCollate',
  get_worker_info: 'The argument of `iterate` of a `dist.IterableDataset`.',
  BatchSampler: 'The option `batchSize` of `dist.DataLoader`.',
  SubsetRandomSampler: '`new dist.Subset(dataset, indices)`, with `shuffle: true` of `dist.DataLoader`.',
};
