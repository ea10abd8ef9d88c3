import { ctcLoss, ctcLossOptions, type CTCLossOptions, type Lengths } from '../functional/ctc-loss.ts';
import { requireOptions } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Connectionist temporal classification loss (torch.nn.CTCLoss): see `F.ctcLoss`. */
export class CTCLoss extends Module {
  readonly #options: CTCLossOptions;

  constructor(options: CTCLossOptions = {}) {
    super();
    requireOptions('CTCLoss', options, ctcLossOptions);
    this.#options = options;
  }

  /** The loss of log-probabilities [T, N, C], targets [N, S], and the lengths of both. */
  forward(logProbs: Tensor, targets: Tensor, inputLengths: Lengths, targetLengths: Lengths): Tensor {
    return ctcLoss(logProbs, targets, inputLengths, targetLengths, this.#options);
  }
}
