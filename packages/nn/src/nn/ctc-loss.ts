import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ctcLoss, type CTCLossOptions, type Lengths } from '../functional/ctc-loss.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Connectionist temporal classification loss (torch.nn.CTCLoss): see `F.ctcLoss`. */
export class CTCLoss extends Module {
  readonly #options: CTCLossOptions;

  constructor(...given: Call<[options?: CTCLossOptions | undefined], 'nn.CTCLoss'>) {
    const [options] = arranged('nn.CTCLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of log-probabilities [T, N, C], targets [N, S], and the lengths of both. */
  forward(logProbs: Tensor, targets: Tensor, inputLengths: Lengths, targetLengths: Lengths): Tensor {
    return ctcLoss(logProbs, targets, inputLengths, targetLengths, this.#options);
  }
}
