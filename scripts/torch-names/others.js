// What replaces names of smaller parts of torch; see `TorchNames` of @ringrun/nn.

/** torch.nn.init */
export const initNames = {};

/** torch.nn.utils */
export const utilsNames = {};

/** torch.nn.utils.rnn */
export const rnnNames = {};

/** torch.optim.lr_scheduler */
export const schedulerNames = {};

/** torch.optim.swa_utils */
export const swaNames = {};

/** torch.utils.data */
export const dataNames = {
  default_collate: 'dist.defaultCollate',
};
