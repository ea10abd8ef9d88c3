import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Returns its input (torch.nn.Identity), in place of a layer that is left out. */
export class Identity extends Module {
  /** The input itself. */
  forward(input: Tensor): Tensor {
    return input;
  }
}
