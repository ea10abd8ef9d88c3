import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isFloat } from '../dtype.ts';
import { attentionWeights, requireMask, scaledDotProductAttention } from '../functional/attention.ts';
import { requireProbability } from '../functional/dropout.ts';
import { linear } from '../functional/linear.ts';
import { where } from '../tensor/combine.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { causalMask } from '../ops/own/attention.ts';
import { filledWith } from '../init/constant.ts';
import { xavierUniform } from '../init/uniform.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { Tensor } from '../tensor/tensor.ts';
import { Linear } from './linear.ts';
import { spellAsTorch } from './attributes.ts';
import { Module } from './module.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Options of {@link MultiheadAttention}. */
export interface MultiheadAttentionOptions {
  /** Probability of dropping an attention weight in training. Default: 0. */
  dropout?: number;
  /** If true, the projections have biases. Default: true. */
  bias?: boolean;
  /** If true, tensors are [N, L, E], else [L, N, E]. Default: false, as in torch. */
  batchFirst?: boolean;
}

/** Options of {@link MultiheadAttention.forward}. */
export interface MultiheadAttentionInputs {
  /** [N, S], bool: keys to ignore. float32: added to the scores. Default: none. */
  keyPaddingMask?: Tensor | undefined;
  /**
   * [L, S] or [N·heads, L, S]. bool: true where a query must not attend to a key, the opposite of `scaledDotProductAttention`,
   * as in torch. float32: added to the scores. Default: none.
   */
  attnMask?: Tensor | undefined;
  /** If true, query i attends only to keys 0 to i, in addition to the masks. Default: `false`. */
  isCausal?: boolean;
}

const inputNames: OptionNames<MultiheadAttentionInputs> = {
  keyPaddingMask: true,
  attnMask: true,
  isCausal: true,
};

/** Result of {@link MultiheadAttention}. */
export interface Attended {
  /** The shape of the query. */
  output: Tensor;
  /**
   * Attention weights, averaged over the heads: [N, L, S]. 0 for a query that attends to no key, for which torch with
   * `need_weights=True` returns NaN. Computed only if they are read.
   */
  weights: Tensor;
}

/** torch's name of the projection of the heads' outputs, which it prints. */
class NonDynamicallyQuantizableLinear extends Linear {}

/**
 * Multi-head attention, with each head over its part of the embedding (torch.nn.MultiheadAttention; Vaswani and others, 2017).
 * Weights are initialized as in Glorot and Bengio (2010), biases as 0. Queries, keys and values have the same size.
 */
export class MultiheadAttention extends Module {
  /** The projections of query, key and value, [3·embedDim, embedDim]. */
  readonly inProjWeight: Parameter;
  /** [3·embedDim] */
  readonly inProjBias: Parameter | undefined;
  /** The projection of the heads' outputs. */
  readonly outProj: Linear;
  readonly #heads: number;
  readonly #dropout: number;
  readonly #batchFirst: boolean;

  static {
    spellAsTorch(this.prototype, ['inProjWeight', 'inProjBias', 'outProj']);
  }

  /** - `embedDim`: a multiple of `numHeads` */
  constructor(
    ...given: Call<
      [embedDim: number, numHeads: number, options?: MultiheadAttentionOptions | undefined],
      'nn.MultiheadAttention'
    >
  ) {
    const [embedDim, numHeads, options] = arranged('nn.MultiheadAttention', given);
    super();

    requirePositiveInteger('MultiheadAttention', { embedDim, numHeads });
    const { dropout: p = 0, bias = true, batchFirst = false } = options;
    requireProbability('MultiheadAttention', p);
    if (embedDim % numHeads !== 0) {
      throw new ArgumentError(
        `MultiheadAttention: expected embedDim to be a multiple of numHeads, got ${embedDim} and ${numHeads}.`,
      );
    }
    this.#heads = numHeads;
    this.#dropout = p;
    this.#batchFirst = batchFirst;
    // In torch's order of random numbers.
    this.outProj = new NonDynamicallyQuantizableLinear(embedDim, embedDim, { bias });
    this.outProj.bias?.data.fill(0);
    this.inProjWeight = xavierUniform([3 * embedDim, embedDim]);
    this.inProjBias = bias ? filledWith(0, [3 * embedDim]) : undefined;
  }

  /**
   * Attends from the query to the keys.
   *
   * @param query [L, N, E], or [N, L, E] with `batchFirst`
   * @param key [S, N, E]. Default: the query, self-attention.
   * @param value [S, N, E]. Default: the key.
   */
  forward(
    query: Tensor,
    key: Tensor = query,
    value: Tensor = key,
    options: MultiheadAttentionInputs = {},
  ): Attended {
    requireOptions('MultiheadAttention.forward', options, inputNames);
    for (const one of [query, key, value]) this.#requireSequences(one);
    const [q, k, v] = this.#projections(query, key, value).map((one) => this.#intoHeads(one));
    const { isCausal = false } = options;
    const shared = { attnMask: this.#mask(options, q, k), isCausal };
    const dropoutP = this.training ? this.#dropout : 0;
    const attended = scaledDotProductAttention(q, k, v, { ...shared, dropoutP });
    const joined = attended.permute(...(this.#batchFirst ? [0, 2, 1, 3] : [2, 0, 1, 3]));
    return {
      output: this.outProj.forward(joined.flatten(2)),
      weights: attentionWeights(q, k, shared).mean([1]),
    };
  }

  #projections(query: Tensor, key: Tensor, value: Tensor): Tensor[] {
    const size = this.inProjWeight.shape[1];
    // Projections of the same tensor share one matrix product.
    if (query === key && key === value) {
      return linear(query, this.inProjWeight, this.inProjBias).split(size, -1);
    }
    const weights = this.inProjWeight.split(size);
    const biases = this.inProjBias?.split(size);
    return [query, key, value].map((one, i) => linear(one, weights[i], biases?.[i]));
  }

  /** [N, heads, length, E / heads] */
  #intoHeads(sequences: Tensor): Tensor {
    const size = this.inProjWeight.shape[1] / this.#heads;
    const heads = sequences.unflatten(-1, [this.#heads, size]);
    return heads.permute(...(this.#batchFirst ? [0, 2, 1, 3] : [1, 2, 0, 3]));
  }

  /** The sum of the masks, added to the scores [N, heads, L, S]. */
  #mask({ keyPaddingMask, attnMask }: MultiheadAttentionInputs, q: Tensor, k: Tensor): Tensor | undefined {
    if (keyPaddingMask) requireMask('MultiheadAttention', 'a keyPaddingMask', keyPaddingMask);
    if (attnMask) requireMask('MultiheadAttention', 'an attnMask', attnMask);
    const padding = keyPaddingMask && asAdded(keyPaddingMask).view(k.shape[0], 1, 1, k.shape[2]);
    if (attnMask === undefined) return padding;
    const added = asAdded(attnMask);
    const each =
      added.shape.length === 2 ? added : added.view(q.shape[0], this.#heads, q.shape[2], k.shape[2]);
    return padding ? each.add(padding) : each;
  }

  #requireSequences(one: Tensor): void {
    const size = this.inProjWeight.shape[1];
    if (isFloat(one) && one.shape.length === 3 && one.shape[2] === size) return;
    const expected = this.#batchFirst ? `[N,L,${size}]` : `[L,N,${size}]`;
    throw new ShapeError(`MultiheadAttention: expected float32${expected}, got ${describeType(one)}.`);
  }
}

/** [size, size], float32: 0 where query i may attend to key j, −∞ where j > i (torch.nn.Transformer). */
export function generateSquareSubsequentMask(size: number): Tensor {
  return where(new Tensor(causalMask(size, size)), 0, -Infinity);
}

/** Converts a mask that is true where attention is forbidden to an addend of the scores. */
function asAdded(mask: Tensor): Tensor {
  return mask.dtype === 'bool' ? where(mask, -Infinity, 0) : mask;
}
