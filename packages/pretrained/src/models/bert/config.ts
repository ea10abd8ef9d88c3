import { completeConfig, requireSettings, type Given, type PretrainedConfig } from '../shared/config.ts';
import { requireHeads } from '../shared/attention.ts';

/** Settings of BERT (transformers.BertConfig). The defaults are those of `bert-base-uncased`. */
export interface BertConfig extends PretrainedConfig {
  /** Number of tokens. Default: 30,522. */
  vocab_size: number;
  /** Width of the model. Default: 768. */
  hidden_size: number;
  /** Number of layers. Default: 12. */
  num_hidden_layers: number;
  /** Number of heads of each layer, which divides `hidden_size`. Default: 12. */
  num_attention_heads: number;
  /** Width of the hidden layer of each block. Default: 3,072. */
  intermediate_size: number;
  /** Activation function. Default: `gelu`. */
  hidden_act: string;
  /** Probability of dropout. Default: 0.1. */
  hidden_dropout_prob: number;
  /** Probability of dropping an attention weight. Default: 0.1. */
  attention_probs_dropout_prob: number;
  /** Maximum number of tokens of a text. Default: 512. */
  max_position_embeddings: number;
  /** Number of token types. Default: 2. */
  type_vocab_size: number;
  /** Standard deviation of the initial weights. Default: 0.02. */
  initializer_range: number;
  /** Added to the variance in normalizations. Default: 1e-12. */
  layer_norm_eps: number;
  /** Token of padding, whose row is not trained. Default: 0. */
  pad_token_id: number | null;
  /** Probability of dropout before the classification. Default: `hidden_dropout_prob`. */
  classifier_dropout: number | null;
}

const defaults: BertConfig = {
  model_type: 'bert',
  vocab_size: 30522,
  hidden_size: 768,
  num_hidden_layers: 12,
  num_attention_heads: 12,
  intermediate_size: 3072,
  hidden_act: 'gelu',
  hidden_dropout_prob: 0.1,
  attention_probs_dropout_prob: 0.1,
  max_position_embeddings: 512,
  type_vocab_size: 2,
  initializer_range: 0.02,
  layer_norm_eps: 1e-12,
  pad_token_id: 0,
  classifier_dropout: null,
};

/** The complete settings of a BERT. */
export function bertConfig(given: Given<BertConfig>): BertConfig {
  const config = completeConfig(defaults, given);
  requireSettings(config, {
    model_type: ['bert'],
    position_embedding_type: ['absolute'],
    is_decoder: [false],
    add_cross_attention: [false],
    tie_word_embeddings: [true],
  });
  requireHeads('bert', config.hidden_size, config.num_attention_heads);
  return config;
}
