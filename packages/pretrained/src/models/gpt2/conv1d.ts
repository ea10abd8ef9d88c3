import { nn, Parameter, type Tensor } from '@ringrun/nn';

/** x·W + b: a linear layer whose weight is stored transposed (transformers.pytorch_utils.Conv1D). */
export class Conv1D extends nn.Module {
  /** [inFeatures, outFeatures] */
  readonly weight: Parameter;
  /** [outFeatures] */
  readonly bias: Parameter;

  /** @param std standard deviation of the initial weight. Default: 0.02. */
  constructor(outFeatures: number, inFeatures: number, std = 0.02) {
    super();
    this.weight = new Parameter(new Float32Array(inFeatures * outFeatures), [inFeatures, outFeatures]);
    this.bias = new Parameter(new Float32Array(outFeatures), [outFeatures]);
    nn.init.normal(this.weight, { std });
  }

  /** […, inFeatures] to […, outFeatures] */
  forward(input: Tensor): Tensor {
    return input.matmul(this.weight).add(this.bias);
  }
}
