import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  cosineEmbeddingLoss,
  hingeEmbeddingLoss,
  marginRankingLoss,
  softMarginLoss,
  requireMargin,
  tripletMarginLoss,
  tripletMarginWithDistanceLoss,
  type MarginLossOptions,
  type TripletMarginLossOptions,
  type TripletMarginWithDistanceLossOptions,
} from '../functional/margin-loss.ts';
import { type ReductionOptions } from '../functional/reduction.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { PairwiseDistance } from './similarity.ts';

/** Cosine embedding loss of pairs (torch.nn.CosineEmbeddingLoss): see `F.cosineEmbeddingLoss`. */
export class CosineEmbeddingLoss extends Module {
  readonly #options: MarginLossOptions;

  constructor(...given: Call<[options?: MarginLossOptions | undefined], 'nn.CosineEmbeddingLoss'>) {
    const [options] = arranged('nn.CosineEmbeddingLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of [N, D], [N, D] and targets [N]. */
  forward(a: Tensor, b: Tensor, target: Tensor): Tensor {
    return cosineEmbeddingLoss(a, b, target, this.#options);
  }
}

/** Triplet margin loss (torch.nn.TripletMarginLoss): see `F.tripletMarginLoss`. */
export class TripletMarginLoss extends Module {
  readonly #options: TripletMarginLossOptions;

  constructor(...given: Call<[options?: TripletMarginLossOptions | undefined], 'nn.TripletMarginLoss'>) {
    const [options] = arranged('nn.TripletMarginLoss', given);
    super();

    requireMargin('TripletMarginLoss', options.margin);
    this.#options = options;
  }

  /** The loss of three tensors [N, D]. */
  forward(anchor: Tensor, positive: Tensor, negative: Tensor): Tensor {
    return tripletMarginLoss(anchor, positive, negative, this.#options);
  }
}

/** Triplet margin loss with any distance (torch.nn.TripletMarginWithDistanceLoss): see `F.tripletMarginWithDistanceLoss`. */
export class TripletMarginWithDistanceLoss extends Module {
  readonly #options: TripletMarginWithDistanceLossOptions;

  constructor(
    ...given: Call<
      [options?: TripletMarginWithDistanceLossOptions | undefined],
      'nn.TripletMarginWithDistanceLoss'
    >
  ) {
    const [options] = arranged('nn.TripletMarginWithDistanceLoss', given);
    super();

    requireMargin('TripletMarginWithDistanceLoss', options.margin);
    this.#options = options;
  }

  /** The loss of three tensors [N, D]. */
  forward(anchor: Tensor, positive: Tensor, negative: Tensor): Tensor {
    return tripletMarginWithDistanceLoss(anchor, positive, negative, this.#options);
  }

  /** @internal */
  protected override writtenChildren(): [name: string, text: string][] {
    const children = super.writtenChildren();
    // torch has a module for the default distance.
    return this.#options.distanceFunction
      ? children
      : [['distance_function', String(new PairwiseDistance())], ...children];
  }
}

/** Margin ranking loss of pairs (torch.nn.MarginRankingLoss): see `F.marginRankingLoss`. */
export class MarginRankingLoss extends Module {
  readonly #options: MarginLossOptions;

  constructor(...given: Call<[options?: MarginLossOptions | undefined], 'nn.MarginRankingLoss'>) {
    const [options] = arranged('nn.MarginRankingLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of two tensors and targets of one shape. */
  forward(a: Tensor, b: Tensor, target: Tensor): Tensor {
    return marginRankingLoss(a, b, target, this.#options);
  }
}

/** Hinge embedding loss of distances (torch.nn.HingeEmbeddingLoss): see `F.hingeEmbeddingLoss`. */
export class HingeEmbeddingLoss extends Module {
  readonly #options: MarginLossOptions;

  constructor(...given: Call<[options?: MarginLossOptions | undefined], 'nn.HingeEmbeddingLoss'>) {
    const [options] = arranged('nn.HingeEmbeddingLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of distances and targets of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return hingeEmbeddingLoss(input, target, this.#options);
  }
}

/** Logistic loss of targets 1 and −1 (torch.nn.SoftMarginLoss): see `F.softMarginLoss`. */
export class SoftMarginLoss extends Module {
  readonly #options: ReductionOptions;

  constructor(...given: Call<[options?: ReductionOptions | undefined], 'nn.SoftMarginLoss'>) {
    const [options] = arranged('nn.SoftMarginLoss', given);
    super();

    this.#options = options;
  }

  /** The loss of two tensors of one shape. */
  forward(input: Tensor, target: Tensor): Tensor {
    return softMarginLoss(input, target, this.#options);
  }
}
