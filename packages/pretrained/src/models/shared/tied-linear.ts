import { F, nn, type Parameter, type Tensor } from '@ringrun/nn';

/** A linear layer whose weight is the table of the input tokens: […, width] to […, vocabulary]. */
export class TiedLinear extends nn.Module {
  /** [vocabulary, width] */
  readonly weight: Parameter;
  /** [vocabulary] */
  readonly bias: Parameter | undefined;

  constructor(weight: Parameter, bias?: Parameter) {
    super();
    this.weight = weight;
    this.bias = bias;
  }

  /** The scores of all tokens. */
  forward(input: Tensor): Tensor {
    return F.linear(input, this.weight, this.bias);
  }
}
