import { nn, type Tensor } from '@ringrun/nn';

/** The mean of the vectors of a text's words, and one linear layer. */
export class BagOfWords extends nn.Module {
  readonly bag: nn.EmbeddingBag;
  readonly fc: nn.Linear;

  constructor(vocabSize: number, classes: number, width = 64) {
    super();
    this.bag = new nn.EmbeddingBag(vocabSize, width, { paddingIdx: 0 });
    this.fc = new nn.Linear(width, classes);
  }

  /** Maps padded tokens [N, L] to logits [N, classes]. */
  forward(tokens: Tensor): Tensor {
    return this.fc.forward(this.bag.forward(tokens));
  }
}
