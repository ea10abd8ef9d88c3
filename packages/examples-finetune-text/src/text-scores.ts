import { nn, type Tensor } from '@ringrun/nn';
import type { BertForSequenceClassification } from '@ringrun/pretrained';

/** The scores of a BERT for tokens alone: the mask of padding is computed, and each text is one segment. */
export class TextScores extends nn.Module {
  readonly model: BertForSequenceClassification;

  constructor(model: BertForSequenceClassification) {
    super();
    this.model = model;
  }

  /** [N, L] to [N, labels] */
  forward(tokens: Tensor): Tensor {
    return this.model.forward(tokens, tokens.ne(this.model.config.pad_token_id ?? 0));
  }
}
