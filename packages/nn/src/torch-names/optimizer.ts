import type { TorchNames } from './torch-names.ts';

/** Attributes and methods of torch.optim.Optimizer. */
export const optimizerNames: TorchNames = {
  state: 'optimizer.stateDict().state',
  register_step_post_hook: 'Call the function after await optimizer.step().',
  register_step_pre_hook: 'Call the function before await optimizer.step().',
};
