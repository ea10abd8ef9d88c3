import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Returns its input (torch.nn.Identity), as a placeholder for a layer. */
export class Identity extends Module {
  /** The input itself. */
  forward(input: Tensor): Tensor {
    return input;
  }
}
