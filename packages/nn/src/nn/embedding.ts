import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { embedding, gradientOptions, paddingRow, type EmbeddingOptions } from '../functional/embedding.ts';
import { defaultGenerator } from '../random/generator.ts';
import { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/**
 * A table of vectors (torch.nn.Embedding): int64 of any shape to [..., embeddingDim]. Initialized from the standard normal
 * distribution; the padding row is 0 and is not trained.
 */
export class Embedding extends Module {
  /** [numEmbeddings, embeddingDim] */
  readonly weight: Parameter;
  readonly #paddingIdx: number | undefined;
  readonly #gradient: { readonly scaleGradByFreq: boolean; readonly sparse: boolean };

  constructor(
    ...given: Call<
      [numEmbeddings: number, embeddingDim: number, options?: EmbeddingOptions | undefined],
      'nn.Embedding'
    >
  ) {
    const [numEmbeddings, embeddingDim, options] = arranged('nn.Embedding', given);
    super();

    const { paddingIdx } = options;
    const gradient = gradientOptions('Embedding', options);
    this.weight = embeddingTable('Embedding', numEmbeddings, embeddingDim, paddingIdx);
    this.#paddingIdx = paddingRow('Embedding', paddingIdx, numEmbeddings);
    this.#gradient = gradient;
    if (gradient.sparse) this.weight.expectSparseGradient();
  }

  /** Looks up a row for each index: int64 […] to [..., embeddingDim]. */
  forward(input: Tensor): Tensor {
    return embedding(input, this.weight, { paddingIdx: this.#paddingIdx, ...this.#gradient });
  }

  /** @internal */
  override extraRepr(): string {
    const { scaleGradByFreq, sparse } = this.#gradient;
    return writeArguments(this.weight.shape, {
      padding_idx: this.#paddingIdx,
      scale_grad_by_freq: scaleGradByFreq || undefined,
      sparse: sparse || undefined,
    });
  }
}

/** A table [numEmbeddings, embeddingDim] from the standard normal distribution, with zeros in the padding row. */
export function embeddingTable(
  name: string,
  numEmbeddings: number,
  embeddingDim: number,
  paddingIdx: number | undefined,
): Parameter {
  requirePositiveInteger(name, { numEmbeddings, embeddingDim });
  const padding = paddingRow(name, paddingIdx, numEmbeddings);
  const data = new Float32Array(numEmbeddings * embeddingDim);
  defaultGenerator.fillNormal(data, 0, 1);
  if (padding !== undefined) data.fill(0, padding * embeddingDim, (padding + 1) * embeddingDim);
  return new Parameter(data, [numEmbeddings, embeddingDim]);
}
