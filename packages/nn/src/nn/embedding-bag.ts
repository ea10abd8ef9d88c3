import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { paddingRow } from '../functional/embedding.ts';
import { embeddingBag, requireMode, type BagOptions } from '../functional/embedding-bag.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { embeddingTable } from './embedding.ts';
import { Module } from './module.ts';
import { quoted, writeArguments } from './repr.ts';

/**
 * Sums, means or maxima of vectors of a table (torch.nn.EmbeddingBag): int64 [B, L], or [T] with offsets, to
 * [B, embeddingDim]. Initialized from the standard normal distribution; the padding row is 0 and is not trained.
 */
export class EmbeddingBag extends Module {
  /** [numEmbeddings, embeddingDim] */
  readonly weight: Parameter;
  readonly #options: BagOptions;

  constructor(
    ...given: Call<
      [numEmbeddings: number, embeddingDim: number, options?: BagOptions | undefined],
      'nn.EmbeddingBag'
    >
  ) {
    const [numEmbeddings, embeddingDim, options] = arranged('nn.EmbeddingBag', given);
    super();

    const { mode = 'mean', sparse = false } = options;
    requireMode('EmbeddingBag', mode, sparse);
    this.weight = embeddingTable('EmbeddingBag', numEmbeddings, embeddingDim, options.paddingIdx);
    if (sparse) this.weight.expectSparseGradient();
    this.#options = { ...options, paddingIdx: paddingRow('EmbeddingBag', options.paddingIdx, numEmbeddings) };
  }

  /**
   * Reduces the rows of each bag to one vector, [B, embeddingDim].
   *
   * @param input int64 [B, L], or [T] with offsets
   * @param offsets where each bag begins, int64 [B]
   * @param perSampleWeights a factor for each row; only with mode 'sum'. Default: 1.
   */
  forward(input: Tensor, offsets?: Tensor, perSampleWeights?: Tensor): Tensor {
    return embeddingBag(input, this.weight, offsets, { ...this.#options, perSampleWeights });
  }

  /** @internal */
  override extraRepr(): string {
    const { mode = 'mean', paddingIdx } = this.#options;
    return writeArguments(this.weight.shape, { mode: quoted(mode), padding_idx: paddingIdx });
  }
}
