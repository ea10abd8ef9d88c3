import {
  huberLoss,
  huberLossOptions,
  l1Loss,
  smoothL1Loss,
  smoothL1LossOptions,
  type HuberLossOptions,
  type SmoothL1LossOptions,
} from '../functional/distance-loss.ts';
import { reductionOptions, type ReductionOptions } from '../functional/reduction.ts';
import { requireOptions } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Absolute error (torch.nn.L1Loss): see `F.l1Loss`. */
export class L1Loss extends Module {
  readonly #options: ReductionOptions;

  constructor(options: ReductionOptions = {}) {
    super();
    requireOptions('L1Loss', options, reductionOptions);
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

  constructor(options: SmoothL1LossOptions = {}) {
    super();
    requireOptions('SmoothL1Loss', options, smoothL1LossOptions);
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

  constructor(options: HuberLossOptions = {}) {
    super();
    requireOptions('HuberLoss', options, huberLossOptions);
    this.#options = options;
  }

  /** The loss of two tensors of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, this.#options);
  }
}
