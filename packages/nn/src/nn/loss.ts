import { nllLoss } from '../functional/loss.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';

/** Mean negative log-likelihood (torch.nn.NLLLoss). */
export class NLLLoss extends Module {
  forward(logProbabilities: Tensor, target: Tensor): Tensor {
    return nllLoss(logProbabilities, target);
  }
}
