import { nn, Parameter, type Tensor } from '@ringrun/nn';
import { activationOf, type Activation } from '../shared/activations.ts';
import { paddingMask } from '../shared/attention.ts';
import { numLabelsOf, type Given } from '../shared/config.ts';
import { requireInputIds } from '../shared/embedding.ts';
import { initWeights } from '../shared/init-weights.ts';
import { PretrainedModel } from '../shared/pretrained-model.ts';
import { TiedLinear } from '../shared/tied-linear.ts';
import { bertConfig, type BertConfig } from './config.ts';
import { BertEmbeddings, BertEncoder, BertPooler } from './layers.ts';

/** Outputs of a {@link BertModel}. */
export interface BertOutputs {
  /** A vector of each token, [N, S, width]. */
  lastHiddenState: Tensor;
  /** A vector of each text, [N, width]; undefined without a pooler. */
  poolerOutput: Tensor | undefined;
}

/** Options of {@link BertModel}. */
export interface BertModelOptions {
  /** If true, computes a vector of each text. Default: true. */
  addPoolingLayer?: boolean;
}

/** BERT without a head (transformers.BertModel; Devlin and others, 2018). */
export class BertModel extends PretrainedModel<BertConfig> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'bert';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'bert';
  /**
   * The vectors of tokens.
   *
   * @hidden
   */
  readonly embeddings: BertEmbeddings;
  /**
   * The blocks.
   *
   * @hidden
   */
  readonly encoder: BertEncoder;
  /**
   * The vector of a text.
   *
   * @hidden
   */
  readonly pooler: BertPooler | undefined;

  constructor(given: Given<BertConfig>, { addPoolingLayer = true }: BertModelOptions = {}) {
    super(bertConfig(given));
    this.embeddings = new BertEmbeddings(this.config);
    this.encoder = new BertEncoder(this.config);
    this.pooler = addPoolingLayer ? new BertPooler(this.config) : undefined;
    initWeights(this, this.config.initializer_range, this.config.pad_token_id);
  }

  /**
   * - `inputIds`: int64 [N, S]
   * - `attentionMask`: int64 or bool [N, S], 0 for padding. Default: no padding.
   * - `tokenTypeIds`: int64 [N, S]. Default: 0.
   * - `positionIds`: int64 [N, S] or [S]. Default: 0, 1, …
   */
  forward(
    inputIds: Tensor,
    attentionMask?: Tensor,
    tokenTypeIds?: Tensor,
    positionIds?: Tensor,
  ): BertOutputs {
    requireInputIds('BertModel', inputIds, this.config.max_position_embeddings);
    const mask = paddingMask('BertModel', attentionMask, inputIds.shape);
    const embedded = this.embeddings.forward(inputIds, tokenTypeIds, positionIds);
    const lastHiddenState = this.encoder.forward(embedded, mask);
    return { lastHiddenState, poolerOutput: this.pooler?.forward(lastHiddenState) };
  }
}

/** BERT with a linear layer that classifies texts (transformers.BertForSequenceClassification). */
export class BertForSequenceClassification extends PretrainedModel<BertConfig> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'bert';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'bert';
  /** The model without the head. */
  readonly bert: BertModel;
  /** Before the head. */
  readonly dropout: nn.Dropout;
  /** The head. */
  readonly classifier: nn.Linear;

  constructor(given: Given<BertConfig>) {
    super(bertConfig(given));
    const { config } = this;
    this.bert = new BertModel(config);
    this.dropout = new nn.Dropout(config.classifier_dropout ?? config.hidden_dropout_prob);
    this.classifier = new nn.Linear(config.hidden_size, numLabelsOf(config));
    initWeights(this.classifier, config.initializer_range);
  }

  /** Inputs as those of {@link BertModel}, to the scores of the classes [N, classes]. */
  forward(inputIds: Tensor, attentionMask?: Tensor, tokenTypeIds?: Tensor, positionIds?: Tensor): Tensor {
    const { poolerOutput } = this.bert.forward(inputIds, attentionMask, tokenTypeIds, positionIds);
    return this.classifier.forward(this.dropout.forward(poolerOutput!));
  }
}

/** The layer before the scores of the tokens. */
export class BertPredictionHeadTransform extends nn.Module {
  readonly dense: nn.Linear;
  readonly LayerNorm: nn.LayerNorm;
  readonly activation: Activation;

  constructor(config: BertConfig) {
    super();
    this.dense = new nn.Linear(config.hidden_size, config.hidden_size);
    this.LayerNorm = new nn.LayerNorm(config.hidden_size, { eps: config.layer_norm_eps });
    this.activation = activationOf(config.hidden_act);
  }

  /** [N, S, width] to [N, S, width] */
  forward(hidden: Tensor): Tensor {
    return this.LayerNorm.forward(this.activation(this.dense.forward(hidden)));
  }
}

/** The scores of the tokens; the last layer has the table of the input tokens. */
export class BertLMPredictionHead extends nn.Module {
  readonly bias: Parameter;
  readonly transform: BertPredictionHeadTransform;
  readonly decoder: TiedLinear;

  constructor(config: BertConfig, table: Parameter) {
    super();
    this.bias = new Parameter(new Float32Array(config.vocab_size), [config.vocab_size]);
    this.transform = new BertPredictionHeadTransform(config);
    this.decoder = new TiedLinear(table, this.bias);
  }

  /** [N, S, width] to [N, S, vocabulary] */
  forward(hidden: Tensor): Tensor {
    return this.decoder.forward(this.transform.forward(hidden));
  }
}

/** Heads of the pretraining. */
export class BertOnlyMLMHead extends nn.Module {
  readonly predictions: BertLMPredictionHead;

  constructor(config: BertConfig, table: Parameter) {
    super();
    this.predictions = new BertLMPredictionHead(config, table);
  }
}

/** BERT that predicts masked tokens (transformers.BertForMaskedLM). */
export class BertForMaskedLM extends PretrainedModel<BertConfig> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'bert';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'bert';
  /** The model without the head. */
  readonly bert: BertModel;
  /**
   * The head.
   *
   * @hidden
   */
  readonly cls: BertOnlyMLMHead;

  constructor(given: Given<BertConfig>) {
    super(bertConfig(given));
    this.bert = new BertModel(this.config, { addPoolingLayer: false });
    const { weight } = this.bert.embeddings.word_embeddings;
    this.cls = new BertOnlyMLMHead(this.config, weight);
    initWeights(this.cls, this.config.initializer_range);
  }

  /** Inputs as those of {@link BertModel}, to the scores of all tokens [N, S, vocabulary]. */
  forward(inputIds: Tensor, attentionMask?: Tensor, tokenTypeIds?: Tensor, positionIds?: Tensor): Tensor {
    const { lastHiddenState } = this.bert.forward(inputIds, attentionMask, tokenTypeIds, positionIds);
    return this.cls.predictions.forward(lastHiddenState);
  }
}
