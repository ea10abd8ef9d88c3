import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  cosineSimilarity,
  pairwiseDistance,
  type CosineSimilarityOptions,
  type PairwiseDistanceOptions,
} from '../functional/similarity.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Cosine of the angle of two vectors (torch.nn.CosineSimilarity): see `F.cosineSimilarity`. */
export class CosineSimilarity extends Module {
  readonly #options: CosineSimilarityOptions;

  constructor(...given: Call<[options?: CosineSimilarityOptions | undefined], 'nn.CosineSimilarity'>) {
    const [options] = arranged('nn.CosineSimilarity', given);
    super();

    this.#options = options;
  }

  /** Returns the cosines, without the dimension of the vectors. */
  forward(a: Tensor, b: Tensor): Tensor {
    return cosineSimilarity(a, b, this.#options);
  }
}

/** Distance of two vectors (torch.nn.PairwiseDistance): see `F.pairwiseDistance`. */
export class PairwiseDistance extends Module {
  readonly #options: PairwiseDistanceOptions;

  constructor(...given: Call<[options?: PairwiseDistanceOptions | undefined], 'nn.PairwiseDistance'>) {
    const [options] = arranged('nn.PairwiseDistance', given);
    super();

    this.#options = options;
  }

  /** Returns the distances, without the last dimension. */
  forward(a: Tensor, b: Tensor): Tensor {
    return pairwiseDistance(a, b, this.#options);
  }
}
