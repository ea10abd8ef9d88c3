import { F, nn, type Tensor } from '@ringrun/nn';
import { paddingMask } from '../shared/attention.ts';
import { numLabelsOf, type Given } from '../shared/config.ts';
import { requireInputIds } from '../shared/embedding.ts';
import { initWeights } from '../shared/init-weights.ts';
import { PretrainedModel } from '../shared/pretrained-model.ts';
import { distilBertConfig, type DistilBertConfig } from './config.ts';
import { Embeddings, Transformer } from './layers.ts';

/** Outputs of a {@link DistilBertModel}. */
export interface DistilBertOutputs {
  /** A vector of each token, [N, S, dim]. */
  lastHiddenState: Tensor;
}

/** DistilBERT without a head (transformers.DistilBertModel; Sanh and others, 2019). */
export class DistilBertModel extends PretrainedModel<DistilBertConfig> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'distilbert';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'distilbert';
  /**
   * The vectors of tokens.
   *
   * @hidden
   */
  readonly embeddings: Embeddings;
  /**
   * The blocks.
   *
   * @hidden
   */
  readonly transformer: Transformer;

  constructor(given: Given<DistilBertConfig>) {
    super(distilBertConfig(given));
    this.embeddings = new Embeddings(this.config);
    this.transformer = new Transformer(this.config);
    initWeights(this, this.config.initializer_range, this.config.pad_token_id);
  }

  /**
   * - `inputIds`: int64 [N, S]
   * - `attentionMask`: int64 or bool [N, S], 0 for padding. Default: no padding.
   * - `positionIds`: int64 [N, S] or [S]. Default: 0, 1, …
   */
  forward(inputIds: Tensor, attentionMask?: Tensor, positionIds?: Tensor): DistilBertOutputs {
    requireInputIds('DistilBertModel', inputIds, this.config.max_position_embeddings);
    const mask = paddingMask('DistilBertModel', attentionMask, inputIds.shape);
    const embedded = this.embeddings.forward(inputIds, positionIds);
    return { lastHiddenState: this.transformer.forward(embedded, mask) };
  }
}

/** DistilBERT that classifies texts (transformers.DistilBertForSequenceClassification). */
export class DistilBertForSequenceClassification extends PretrainedModel<DistilBertConfig> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'distilbert';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'distilbert';
  /** The model without the head. */
  readonly distilbert: DistilBertModel;
  /** First layer of the head. */
  readonly pre_classifier: nn.Linear;
  /** Second layer of the head. */
  readonly classifier: nn.Linear;
  /** Before the second layer. */
  readonly dropout: nn.Dropout;

  constructor(given: Given<DistilBertConfig>) {
    super(distilBertConfig(given));
    const { dim, initializer_range, seq_classif_dropout } = this.config;
    this.distilbert = new DistilBertModel(this.config);
    this.pre_classifier = new nn.Linear(dim, dim);
    this.classifier = new nn.Linear(dim, numLabelsOf(this.config));
    this.dropout = new nn.Dropout(seq_classif_dropout);
    for (const head of [this.pre_classifier, this.classifier]) initWeights(head, initializer_range);
  }

  /** Inputs as those of {@link DistilBertModel}, to the scores of the classes [N, classes]. */
  forward(inputIds: Tensor, attentionMask?: Tensor, positionIds?: Tensor): Tensor {
    const { lastHiddenState } = this.distilbert.forward(inputIds, attentionMask, positionIds);
    const pooled = F.relu(this.pre_classifier.forward(lastHiddenState.select(1, 0)));
    return this.classifier.forward(this.dropout.forward(pooled));
  }
}
