import type { nn } from '@ringrun/nn';

/** A module of `@ringrun/nn` with `forward`. */
export type TrainableModule = Omit<
  nn.Module,
  'registerForwardHook' | 'registerForwardPreHook' | 'registerFullBackwardHook'
> & {
  /** Computes an output; the training calls it with tensors. */
  forward(...inputs: never[]): unknown;
};
