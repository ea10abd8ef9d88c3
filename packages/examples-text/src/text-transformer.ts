import { defaultGenerator, nn, type Tensor } from '@ringrun/nn';

/** Sizes of a {@link TextTransformer}. */
export interface TextTransformerOptions {
  /** Maximum number of tokens of a text. */
  length: number;
  /** Default: 64. */
  width?: number;
  /** Must divide `width`. Default: 4. */
  heads?: number;
  /** Default: 2. */
  layers?: number;
}

/** A transformer encoder over a text's words; the mean of its outputs is the input of one linear layer. */
export class TextTransformer extends nn.Module {
  readonly words: nn.Embedding;
  readonly places: nn.Embedding;
  readonly encoder: nn.TransformerEncoder;
  readonly fc: nn.Linear;

  constructor(vocabSize: number, classes: number, options: TextTransformerOptions) {
    super();
    const { length, width = 64, heads = 4, layers = 2 } = options;
    this.words = new nn.Embedding(vocabSize, width, { paddingIdx: 0 });
    this.places = new nn.Embedding(length, width);
    // As large as the weights of the following layers. Padding stays 0.
    for (const { weight } of [this.words, this.places]) defaultGenerator.fillNormal(weight.data, 0, 0.1);
    this.words.weight.data.fill(0, 0, width);
    const layer = new nn.TransformerEncoderLayer(width, heads, {
      dimFeedforward: 2 * width,
      dropout: 0,
      batchFirst: true,
    });
    this.encoder = new nn.TransformerEncoder(layer, layers);
    this.fc = new nn.Linear(width, classes);
  }

  /** Maps padded tokens [N, L] to logits [N, classes]. */
  forward(tokens: Tensor): Tensor {
    const places = this.places.weight.narrow(0, 0, tokens.shape[1]);
    const x = this.words.forward(tokens).add(places);
    const encoded = this.encoder.forward(x, { srcKeyPaddingMask: tokens.eq(0) });
    const isWord = tokens.ne(0).to('float32').unsqueeze(-1);
    return this.fc.forward(
      encoded
        .mul(isWord)
        .sum([1])
        .div(isWord.sum([1])),
    );
  }
}
