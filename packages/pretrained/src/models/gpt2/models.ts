import { nn, type Tensor } from '@ringrun/nn';
import { paddingMask } from '../shared/attention.ts';
import type { Given } from '../shared/config.ts';
import { firstRows, requireInputIds, type Table } from '../shared/embedding.ts';
import { initWeights } from '../shared/init-weights.ts';
import { PretrainedModel } from '../shared/pretrained-model.ts';
import { TiedLinear } from '../shared/tied-linear.ts';
import { gpt2Config, type GPT2Config } from './config.ts';
import { GPT2Block } from './layers.ts';

/** Outputs of a {@link GPT2Model}. */
export interface GPT2Outputs {
  /** A vector of each token, [N, S, width]. */
  lastHiddenState: Tensor;
}

/** GPT-2 without a head (transformers.GPT2Model; Radford and others, 2019). */
export class GPT2Model extends PretrainedModel<GPT2Config> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'gpt2';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'transformer';
  /**
   * The table of tokens.
   *
   * @hidden
   */
  readonly wte: Table;
  /**
   * The table of positions.
   *
   * @hidden
   */
  readonly wpe: Table;
  /** After the tables. */
  readonly drop: nn.Dropout;
  /**
   * The blocks.
   *
   * @hidden
   */
  readonly h: nn.ModuleList<GPT2Block>;
  /** After the blocks. */
  readonly ln_f: nn.LayerNorm;

  constructor(given: Given<GPT2Config>) {
    super(gpt2Config(given));
    const { config } = this;
    this.wte = new nn.Embedding(config.vocab_size, config.n_embd);
    this.wpe = new nn.Embedding(config.n_positions, config.n_embd);
    this.drop = new nn.Dropout(config.embd_pdrop);
    this.h = new nn.ModuleList(
      Array.from({ length: config.n_layer }, (_, index) => new GPT2Block(config, index)),
    );
    this.ln_f = new nn.LayerNorm(config.n_embd, { eps: config.layer_norm_epsilon });
    initWeights(this, config.initializer_range);
  }

  /**
   * - `inputIds`: int64 [N, S]
   * - `attentionMask`: int64 or bool [N, S], 0 for padding. Default: no padding.
   * - `tokenTypeIds`: int64 [N, S], rows of the table of tokens that are added. Default: none.
   * - `positionIds`: int64 [N, S] or [S]. Default: 0, 1, …
   */
  forward(
    inputIds: Tensor,
    attentionMask?: Tensor,
    tokenTypeIds?: Tensor,
    positionIds?: Tensor,
  ): GPT2Outputs {
    requireInputIds('GPT2Model', inputIds, this.config.n_positions);
    const mask = paddingMask('GPT2Model', attentionMask, inputIds.shape);
    const positions = positionIds ? this.wpe.forward(positionIds) : firstRows(this.wpe, inputIds.shape[1]);
    let hidden = this.wte.forward(inputIds).add(positions);
    if (tokenTypeIds) hidden = hidden.add(this.wte.forward(tokenTypeIds));
    hidden = this.drop.forward(hidden);
    for (const block of this.h) hidden = block.forward(hidden, mask);
    return { lastHiddenState: this.ln_f.forward(hidden) };
  }
}

/** GPT-2 that predicts the next token (transformers.GPT2LMHeadModel). */
export class GPT2LMHeadModel extends PretrainedModel<GPT2Config> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'gpt2';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'transformer';
  /** The model without the head. */
  readonly transformer: GPT2Model;
  /**
   * The head, by default with the table of the input tokens.
   *
   * @hidden
   */
  readonly lm_head: TiedLinear | nn.Linear;

  constructor(given: Given<GPT2Config>) {
    super(gpt2Config(given));
    const { tie_word_embeddings, n_embd, vocab_size, initializer_range } = this.config;
    this.transformer = new GPT2Model(this.config);
    if (tie_word_embeddings) this.lm_head = new TiedLinear(this.transformer.wte.weight);
    else {
      this.lm_head = new nn.Linear(n_embd, vocab_size, { bias: false });
      initWeights(this.lm_head, initializer_range);
    }
  }

  /**
   * Inputs as those of {@link GPT2Model}, to the scores of the tokens that follow, [N, S, vocabulary]. The loss of the next tokens
   * compares `logits.narrow(1, 0, S - 1)` with `inputIds.narrow(1, 1, S - 1)`.
   */
  forward(inputIds: Tensor, attentionMask?: Tensor, tokenTypeIds?: Tensor, positionIds?: Tensor): Tensor {
    const outputs = this.transformer.forward(inputIds, attentionMask, tokenTypeIds, positionIds);
    return this.lm_head.forward(outputs.lastHiddenState);
  }
}
