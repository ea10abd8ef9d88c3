import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  binaryCrossEntropyWithLogits,
  crossEntropy,
  mseLoss,
  nllLoss,
  type BCEWithLogitsOptions,
  type CrossEntropyOptions,
  type NLLLossOptions,
} from '../functional/loss.ts';
import { type ReductionOptions } from '../functional/reduction.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Negative log-likelihood (torch.nn.NLLLoss): see `F.nllLoss`. */
export class NLLLoss extends Module {
  readonly #options: NLLLossOptions;

  constructor(...given: Call<[options?: NLLLossOptions | undefined], 'nn.NLLLoss'>) {
    const [options] = arranged('nn.NLLLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of log-probabilities [N, C] or [N, C, …] and classes int64 [N] or [N, …]. */
  forward(logProbabilities: Tensor, target: Tensor): Tensor {
    return nllLoss(logProbabilities, target, this.#options);
  }
}

/** Cross entropy of logits and classes, or probabilities (torch.nn.CrossEntropyLoss): see `F.crossEntropy`. */
export class CrossEntropyLoss extends Module {
  readonly #options: CrossEntropyOptions;

  constructor(...given: Call<[options?: CrossEntropyOptions | undefined], 'nn.CrossEntropyLoss'>) {
    const [options] = arranged('nn.CrossEntropyLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of logits [N, C] or [N, C, …] and classes int64 [N] or [N, …], or probabilities of the logits' shape. */
  forward(logits: Tensor, target: Tensor): Tensor {
    return crossEntropy(logits, target, this.#options);
  }
}

/** Squared error (torch.nn.MSELoss): see `F.mseLoss`. */
export class MSELoss extends Module {
  readonly #options: ReductionOptions;

  constructor(...given: Call<[options?: ReductionOptions | undefined], 'nn.MSELoss'>) {
    const [options] = arranged('nn.MSELoss', given);
    super();

    this.#options = options;
  }

  /** The loss of two tensors of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return mseLoss(input, target, this.#options);
  }
}

/** Binary cross entropy of logits (torch.nn.BCEWithLogitsLoss): see `F.binaryCrossEntropyWithLogits`. */
export class BCEWithLogitsLoss extends Module {
  readonly #options: BCEWithLogitsOptions;

  constructor(...given: Call<[options?: BCEWithLogitsOptions | undefined], 'nn.BCEWithLogitsLoss'>) {
    const [options] = arranged('nn.BCEWithLogitsLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of logits and targets from 0 to 1, of one shape. */
  forward(logits: Tensor, target: Tensor): Tensor {
    return binaryCrossEntropyWithLogits(logits, target, this.#options);
  }
}
