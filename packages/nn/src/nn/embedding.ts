import { embedding, embeddingOptions, paddingRow, type EmbeddingOptions } from '../functional/embedding.ts';
import { defaultGenerator } from '../random/generator.ts';
import { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';
import { requirePositiveInteger } from './require.ts';
import { requireOptions } from '../require-options.ts';

/**
 * A table of vectors (torch.nn.Embedding): int64 of any shape to [..., embeddingDim]. Initialized from the standard normal
 * distribution; the padding row is 0 and is not trained.
 */
export class Embedding extends Module {
  /** [numEmbeddings, embeddingDim] */
  readonly weight: Parameter;
  readonly #paddingIdx: number | undefined;

  constructor(numEmbeddings: number, embeddingDim: number, options: EmbeddingOptions = {}) {
    super();
    requireOptions('Embedding', options, embeddingOptions);
    const { paddingIdx } = options;
    requirePositiveInteger('Embedding', { numEmbeddings, embeddingDim });
    this.#paddingIdx = paddingRow('Embedding', paddingIdx, numEmbeddings);
    const data = new Float32Array(numEmbeddings * embeddingDim);
    defaultGenerator.fillNormal(data, 0, 1);
    if (this.#paddingIdx !== undefined) {
      data.fill(0, this.#paddingIdx * embeddingDim, (this.#paddingIdx + 1) * embeddingDim);
    }
    this.weight = new Parameter(data, [numEmbeddings, embeddingDim]);
  }

  /** Looks up a row for each index: int64 […] to [..., embeddingDim]. */
  forward(input: Tensor): Tensor {
    return embedding(input, this.weight, { paddingIdx: this.#paddingIdx });
  }
}
