import { nn, type Tensor } from '@ringrun/nn';
import { activationOf, type Activation } from '../shared/activations.ts';
import { attend } from '../shared/attention.ts';
import { firstRows, type Table } from '../shared/embedding.ts';
import type { BertConfig } from './config.ts';

/** The sum of the vectors of tokens, positions and token types, normalized. */
export class BertEmbeddings extends nn.Module {
  readonly word_embeddings: Table;
  readonly position_embeddings: Table;
  readonly token_type_embeddings: Table;
  readonly LayerNorm: nn.LayerNorm;
  readonly dropout: nn.Dropout;

  constructor(config: BertConfig) {
    super();
    const { hidden_size: width, pad_token_id } = config;
    this.word_embeddings = new nn.Embedding(config.vocab_size, width, {
      paddingIdx: pad_token_id ?? undefined,
    });
    this.position_embeddings = new nn.Embedding(config.max_position_embeddings, width);
    this.token_type_embeddings = new nn.Embedding(config.type_vocab_size, width);
    this.LayerNorm = new nn.LayerNorm(width, { eps: config.layer_norm_eps });
    this.dropout = new nn.Dropout(config.hidden_dropout_prob);
  }

  /** int64 [N, S] to [N, S, width] */
  forward(inputIds: Tensor, tokenTypeIds?: Tensor, positionIds?: Tensor): Tensor {
    const words = this.word_embeddings.forward(inputIds);
    const types = tokenTypeIds
      ? this.token_type_embeddings.forward(tokenTypeIds)
      : firstRows(this.token_type_embeddings, 1);
    const positions = positionIds
      ? this.position_embeddings.forward(positionIds)
      : firstRows(this.position_embeddings, inputIds.shape[1]);
    return this.dropout.forward(this.LayerNorm.forward(words.add(types).add(positions)));
  }
}

/** Query, key and value of a layer. */
export class BertSelfAttention extends nn.Module {
  readonly query: nn.Linear;
  readonly key: nn.Linear;
  readonly value: nn.Linear;
  readonly heads: number;
  readonly dropoutP: number;

  constructor({ hidden_size: width, ...config }: BertConfig) {
    super();
    this.query = new nn.Linear(width, width);
    this.key = new nn.Linear(width, width);
    this.value = new nn.Linear(width, width);
    this.heads = config.num_attention_heads;
    this.dropoutP = config.attention_probs_dropout_prob;
  }

  /** [N, S, width] to [N, S, width] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    const { heads, dropoutP, training } = this;
    const projected = [this.query, this.key, this.value].map((layer) => layer.forward(hidden));
    return attend(projected, { heads, mask, dropoutP: training ? dropoutP : 0 });
  }
}

/** A linear layer whose output is added to an earlier one and normalized. */
export class BertOutput extends nn.Module {
  readonly dense: nn.Linear;
  readonly LayerNorm: nn.LayerNorm;
  readonly dropout: nn.Dropout;

  constructor(inputSize: number, config: BertConfig) {
    super();
    this.dense = new nn.Linear(inputSize, config.hidden_size);
    this.LayerNorm = new nn.LayerNorm(config.hidden_size, { eps: config.layer_norm_eps });
    this.dropout = new nn.Dropout(config.hidden_dropout_prob);
  }

  /** [N, S, inputSize] and the earlier output [N, S, width] to [N, S, width] */
  forward(hidden: Tensor, earlier: Tensor): Tensor {
    return this.LayerNorm.forward(this.dropout.forward(this.dense.forward(hidden)).add(earlier));
  }
}

/** Attention with its output layer. */
export class BertAttention extends nn.Module {
  readonly self: BertSelfAttention;
  readonly output: BertOutput;

  constructor(config: BertConfig) {
    super();
    this.self = new BertSelfAttention(config);
    this.output = new BertOutput(config.hidden_size, config);
  }

  /** [N, S, width] to [N, S, width] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    return this.output.forward(this.self.forward(hidden, mask), hidden);
  }
}

/** The hidden layer of a block. */
export class BertIntermediate extends nn.Module {
  readonly dense: nn.Linear;
  readonly activation: Activation;

  constructor(config: BertConfig) {
    super();
    this.dense = new nn.Linear(config.hidden_size, config.intermediate_size);
    this.activation = activationOf(config.hidden_act);
  }

  /** [N, S, width] to [N, S, intermediate_size] */
  forward(hidden: Tensor): Tensor {
    return this.activation(this.dense.forward(hidden));
  }
}

/** A block: attention, and two linear layers. */
export class BertLayer extends nn.Module {
  readonly attention: BertAttention;
  readonly intermediate: BertIntermediate;
  readonly output: BertOutput;

  constructor(config: BertConfig) {
    super();
    this.attention = new BertAttention(config);
    this.intermediate = new BertIntermediate(config);
    this.output = new BertOutput(config.intermediate_size, config);
  }

  /** [N, S, width] to [N, S, width] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    const attended = this.attention.forward(hidden, mask);
    return this.output.forward(this.intermediate.forward(attended), attended);
  }
}

/** All blocks. */
export class BertEncoder extends nn.Module {
  readonly layer: nn.ModuleList<BertLayer>;

  constructor(config: BertConfig) {
    super();
    this.layer = new nn.ModuleList(
      Array.from({ length: config.num_hidden_layers }, () => new BertLayer(config)),
    );
  }

  /** [N, S, width] to [N, S, width] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    return [...this.layer].reduce((x, layer) => layer.forward(x, mask), hidden);
  }
}

/** A vector of each text, from its first token. */
export class BertPooler extends nn.Module {
  readonly dense: nn.Linear;

  constructor({ hidden_size }: BertConfig) {
    super();
    this.dense = new nn.Linear(hidden_size, hidden_size);
  }

  /** [N, S, width] to [N, width] */
  forward(hidden: Tensor): Tensor {
    return this.dense.forward(hidden.select(1, 0)).tanh();
  }
}
