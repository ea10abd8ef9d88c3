import { nn, type Tensor } from '@ringrun/nn';
import { activationOf, type Activation } from '../shared/activations.ts';
import { attend } from '../shared/attention.ts';
import { firstRows, type Table } from '../shared/embedding.ts';
import type { DistilBertConfig } from './config.ts';

/** All normalizations of DistilBERT add it to the variance. */
const eps = 1e-12;

/** The sum of the vectors of tokens and positions, normalized. */
export class Embeddings extends nn.Module {
  readonly word_embeddings: Table;
  readonly position_embeddings: Table;
  readonly LayerNorm: nn.LayerNorm;
  readonly dropout: nn.Dropout;

  constructor({ dim, dropout, ...config }: DistilBertConfig) {
    super();
    this.word_embeddings = new nn.Embedding(config.vocab_size, dim, {
      paddingIdx: config.pad_token_id ?? undefined,
    });
    this.position_embeddings = new nn.Embedding(config.max_position_embeddings, dim);
    this.LayerNorm = new nn.LayerNorm(dim, { eps });
    this.dropout = new nn.Dropout(dropout);
  }

  /** int64 [N, S] to [N, S, dim] */
  forward(inputIds: Tensor, positionIds?: Tensor): Tensor {
    const positions = positionIds
      ? this.position_embeddings.forward(positionIds)
      : firstRows(this.position_embeddings, inputIds.shape[1]);
    const sum = this.word_embeddings.forward(inputIds).add(positions);
    return this.dropout.forward(this.LayerNorm.forward(sum));
  }
}

/** Attention with its output layer. */
export class DistilBertSelfAttention extends nn.Module {
  readonly q_lin: nn.Linear;
  readonly k_lin: nn.Linear;
  readonly v_lin: nn.Linear;
  readonly out_lin: nn.Linear;
  readonly heads: number;
  readonly dropoutP: number;

  constructor({ dim, n_heads, attention_dropout }: DistilBertConfig) {
    super();
    this.q_lin = new nn.Linear(dim, dim);
    this.k_lin = new nn.Linear(dim, dim);
    this.v_lin = new nn.Linear(dim, dim);
    this.out_lin = new nn.Linear(dim, dim);
    this.heads = n_heads;
    this.dropoutP = attention_dropout;
  }

  /** [N, S, dim] to [N, S, dim] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    const { heads, dropoutP, training } = this;
    const projected = [this.q_lin, this.k_lin, this.v_lin].map((layer) => layer.forward(hidden));
    return this.out_lin.forward(attend(projected, { heads, mask, dropoutP: training ? dropoutP : 0 }));
  }
}

/** Two linear layers. */
export class FFN extends nn.Module {
  readonly lin1: nn.Linear;
  readonly lin2: nn.Linear;
  readonly dropout: nn.Dropout;
  readonly activation: Activation;

  constructor({ dim, hidden_dim, activation, dropout }: DistilBertConfig) {
    super();
    this.lin1 = new nn.Linear(dim, hidden_dim);
    this.lin2 = new nn.Linear(hidden_dim, dim);
    this.dropout = new nn.Dropout(dropout);
    this.activation = activationOf(activation);
  }

  /** [N, S, dim] to [N, S, dim] */
  forward(hidden: Tensor): Tensor {
    return this.dropout.forward(this.lin2.forward(this.activation(this.lin1.forward(hidden))));
  }
}

/** A block: attention, and two linear layers. */
export class TransformerBlock extends nn.Module {
  readonly attention: DistilBertSelfAttention;
  readonly sa_layer_norm: nn.LayerNorm;
  readonly ffn: FFN;
  readonly output_layer_norm: nn.LayerNorm;

  constructor(config: DistilBertConfig) {
    super();
    this.attention = new DistilBertSelfAttention(config);
    this.sa_layer_norm = new nn.LayerNorm(config.dim, { eps });
    this.ffn = new FFN(config);
    this.output_layer_norm = new nn.LayerNorm(config.dim, { eps });
  }

  /** [N, S, dim] to [N, S, dim] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    const attended = this.sa_layer_norm.forward(this.attention.forward(hidden, mask).add(hidden));
    return this.output_layer_norm.forward(this.ffn.forward(attended).add(attended));
  }
}

/** All blocks. */
export class Transformer extends nn.Module {
  readonly layer: nn.ModuleList<TransformerBlock>;

  constructor(config: DistilBertConfig) {
    super();
    this.layer = new nn.ModuleList(
      Array.from({ length: config.n_layers }, () => new TransformerBlock(config)),
    );
  }

  /** [N, S, dim] to [N, S, dim] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    return [...this.layer].reduce((x, layer) => layer.forward(x, mask), hidden);
  }
}
