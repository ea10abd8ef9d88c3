import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  multilabelSoftMarginLoss,
  multiMarginLoss,
  type MultiLabelSoftMarginLossOptions,
  type MultiMarginLossOptions,
} from '../functional/multi-class-loss.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Hinge loss of one class among several (torch.nn.MultiMarginLoss): see `F.multiMarginLoss`. */
export class MultiMarginLoss extends Module {
  readonly #options: MultiMarginLossOptions;

  constructor(...given: Call<[options?: MultiMarginLossOptions | undefined], 'nn.MultiMarginLoss'>) {
    const [options] = arranged('nn.MultiMarginLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of an input [N, C] and classes [N], int64. */
  forward(input: Tensor, target: Tensor): Tensor {
    return multiMarginLoss(input, target, this.#options);
  }
}

/** Binary cross-entropy of several labels (torch.nn.MultiLabelSoftMarginLoss): see `F.multilabelSoftMarginLoss`. */
export class MultiLabelSoftMarginLoss extends Module {
  readonly #options: MultiLabelSoftMarginLossOptions;

  constructor(
    ...given: Call<[options?: MultiLabelSoftMarginLossOptions | undefined], 'nn.MultiLabelSoftMarginLoss'>
  ) {
    const [options] = arranged('nn.MultiLabelSoftMarginLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of logits [N, C] and targets [N, C], 0 or 1. */
  forward(input: Tensor, target: Tensor): Tensor {
    return multilabelSoftMarginLoss(input, target, this.#options);
  }
}
