import { completeConfig, requireSettings, type Given, type PretrainedConfig } from '../shared/config.ts';
import { requireHeads } from '../shared/attention.ts';

/** Settings of DistilBERT (transformers.DistilBertConfig). The defaults are those of `distilbert-base-uncased`. */
export interface DistilBertConfig extends PretrainedConfig {
  /** Number of tokens. Default: 30,522. */
  vocab_size: number;
  /** Width of the model. Default: 768. */
  dim: number;
  /** Number of layers. Default: 6. */
  n_layers: number;
  /** Number of heads of each layer, which divides `dim`. Default: 12. */
  n_heads: number;
  /** Width of the hidden layer of each block. Default: 3,072. */
  hidden_dim: number;
  /** Activation function. Default: `gelu`. */
  activation: string;
  /** Probability of dropout. Default: 0.1. */
  dropout: number;
  /** Probability of dropping an attention weight. Default: 0.1. */
  attention_dropout: number;
  /** Probability of dropout before the classification. Default: 0.2. */
  seq_classif_dropout: number;
  /** Maximum number of tokens of a text. Default: 512. */
  max_position_embeddings: number;
  /** Standard deviation of the initial weights. Default: 0.02. */
  initializer_range: number;
  /** Token of padding, whose row is not trained. Default: 0. */
  pad_token_id: number | null;
}

const defaults: DistilBertConfig = {
  model_type: 'distilbert',
  vocab_size: 30522,
  dim: 768,
  n_layers: 6,
  n_heads: 12,
  hidden_dim: 3072,
  activation: 'gelu',
  dropout: 0.1,
  attention_dropout: 0.1,
  seq_classif_dropout: 0.2,
  max_position_embeddings: 512,
  initializer_range: 0.02,
  pad_token_id: 0,
};

/** The complete settings of a DistilBERT. */
export function distilBertConfig(given: Given<DistilBertConfig>): DistilBertConfig {
  const config = completeConfig(defaults, given);
  requireSettings(config, { model_type: ['distilbert'] });
  requireHeads('distilbert', config.dim, config.n_heads);
  return config;
}
