import { completeConfig, requireSettings, type Given, type PretrainedConfig } from '../shared/config.ts';
import { requireHeads } from '../shared/attention.ts';

/** Settings of GPT-2 (transformers.GPT2Config). The defaults are those of `gpt2`. */
export interface GPT2Config extends PretrainedConfig {
  /** Number of tokens. Default: 50,257. */
  vocab_size: number;
  /** Maximum number of tokens of a text. Default: 1,024. */
  n_positions: number;
  /** Width of the model. Default: 768. */
  n_embd: number;
  /** Number of layers. Default: 12. */
  n_layer: number;
  /** Number of heads of each layer, which divides `n_embd`. Default: 12. */
  n_head: number;
  /** Width of the hidden layer of each block. Default: 4 · `n_embd`. */
  n_inner: number | null;
  /** Activation function. Default: `gelu_new`. */
  activation_function: string;
  /** Probability of dropout before a residual sum. Default: 0.1. */
  resid_pdrop: number;
  /** Probability of dropout after the embeddings. Default: 0.1. */
  embd_pdrop: number;
  /** Probability of dropping an attention weight. Default: 0.1. */
  attn_pdrop: number;
  /** Added to the variance in normalizations. Default: 1e-5. */
  layer_norm_epsilon: number;
  /** Standard deviation of the initial weights. Default: 0.02. */
  initializer_range: number;
  /** If true, divides the scores by √(width of a head). Default: true. */
  scale_attn_weights: boolean;
  /** If true, also divides the scores of layer i by i + 1. Default: false. */
  scale_attn_by_inverse_layer_idx: boolean;
  /** If true, the last layer has the table of the input tokens. Default: true. */
  tie_word_embeddings: boolean;
}

const defaults: GPT2Config = {
  model_type: 'gpt2',
  vocab_size: 50257,
  n_positions: 1024,
  n_embd: 768,
  n_layer: 12,
  n_head: 12,
  n_inner: null,
  activation_function: 'gelu_new',
  resid_pdrop: 0.1,
  embd_pdrop: 0.1,
  attn_pdrop: 0.1,
  layer_norm_epsilon: 1e-5,
  initializer_range: 0.02,
  scale_attn_weights: true,
  scale_attn_by_inverse_layer_idx: false,
  tie_word_embeddings: true,
};

/** The complete settings of a GPT-2. */
export function gpt2Config(given: Given<GPT2Config>): GPT2Config {
  const config = completeConfig(defaults, given);
  requireSettings(config, { model_type: ['gpt2'], add_cross_attention: [false] });
  requireHeads('gpt2', config.n_embd, config.n_head);
  return config;
}
