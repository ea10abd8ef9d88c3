import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  huberLoss,
  l1Loss,
  smoothL1Loss,
  type HuberLossOptions,
  type SmoothL1LossOptions,
} from '../functional/distance-loss.ts';
import { type ReductionOptions } from '../functional/reduction.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Absolute error (torch.nn.L1Loss): see `F.l1Loss`. */
export class L1Loss extends Module {
  readonly #options: ReductionOptions;

  constructor(...given: Call<[options?: ReductionOptions | undefined], 'nn.L1Loss'>) {
    const [options] = arranged('nn.L1Loss', given);
    super();

    this.#options = options;
  }

  /** The loss of two tensors of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return l1Loss(input, target, this.#options);
  }
}

/** Absolute error, squared near 0 (torch.nn.SmoothL1Loss): see `F.smoothL1Loss`. */
export class SmoothL1Loss extends Module {
  readonly #options: SmoothL1LossOptions;

  constructor(...given: Call<[options?: SmoothL1LossOptions | undefined], 'nn.SmoothL1Loss'>) {
    const [options] = arranged('nn.SmoothL1Loss', given);
    super();

    this.#options = options;
  }

  /** The loss of two tensors of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return smoothL1Loss(input, target, this.#options);
  }
}

/** Squared error, linear for large differences (torch.nn.HuberLoss): see `F.huberLoss`. */
export class HuberLoss extends Module {
  readonly #options: HuberLossOptions;

  constructor(...given: Call<[options?: HuberLossOptions | undefined], 'nn.HuberLoss'>) {
    const [options] = arranged('nn.HuberLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of two tensors of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, this.#options);
  }
}
