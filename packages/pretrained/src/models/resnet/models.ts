import { InvalidArgumentError } from '@ringrun/core';
import { nn, type Tensor } from '@ringrun/nn';
import { numLabelsOf, type Given } from '../shared/config.ts';
import { PretrainedModel } from '../shared/pretrained-model.ts';
import { resNetConfig, type ResNetConfig } from './config.ts';
import { ResNetEmbeddings, ResNetEncoder } from './layers.ts';

/** Outputs of a {@link ResNetModel}. */
export interface ResNetOutputs {
  /** Features of each place, [N, C, H / 32, W / 32] with four stages. */
  lastHiddenState: Tensor;
  /** Their mean, [N, C, 1, 1]. */
  poolerOutput: Tensor;
}

/** A ResNet without a head (transformers.ResNetModel; He and others, 2015). */
export class ResNetModel extends PretrainedModel<ResNetConfig> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'resnet';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'resnet';
  /**
   * The first convolution.
   *
   * @hidden
   */
  readonly embedder: ResNetEmbeddings;
  /**
   * The stages.
   *
   * @hidden
   */
  readonly encoder: ResNetEncoder;
  /** The mean over height and width. */
  readonly pooler: nn.AdaptiveAvgPool2d;

  constructor(given: Given<ResNetConfig>) {
    super(resNetConfig(given));
    this.embedder = new ResNetEmbeddings(this.config);
    this.encoder = new ResNetEncoder(this.config);
    this.pooler = new nn.AdaptiveAvgPool2d(1);
  }

  /** - `pixelValues`: float32 [N, num_channels, H, W], normalized as the model's `preprocessor_config.json` says */
  forward(pixelValues: Tensor): ResNetOutputs {
    const { shape } = pixelValues;
    const { num_channels } = this.config;
    if (shape.length !== 4 || shape[1] !== num_channels) {
      throw new InvalidArgumentError(
        `ResNetModel: expected images [N, ${num_channels}, H, W], got [${shape.join(', ')}].`,
      );
    }
    const lastHiddenState = this.encoder.forward(this.embedder.forward(pixelValues));
    return { lastHiddenState, poolerOutput: this.pooler.forward(lastHiddenState) };
  }
}

/** A ResNet with a linear layer that classifies images (transformers.ResNetForImageClassification). */
export class ResNetForImageClassification extends PretrainedModel<ResNetConfig> {
  /** See {@link PretrainedModelClass}. */
  static readonly modelType = 'resnet';
  /** See {@link PretrainedModelClass}. */
  static readonly baseModelPrefix = 'resnet';
  /** The model without the head. */
  readonly resnet: ResNetModel;
  /** The head. */
  readonly classifier: nn.Sequential;

  constructor(given: Given<ResNetConfig>) {
    super(resNetConfig(given));
    this.resnet = new ResNetModel(this.config);
    this.classifier = new nn.Sequential(
      new nn.Flatten(),
      new nn.Linear(this.config.hidden_sizes.at(-1)!, numLabelsOf(this.config)),
    );
  }

  /** float32 [N, num_channels, H, W] to the scores of the classes [N, classes]. */
  forward(pixelValues: Tensor): Tensor {
    return this.classifier.forward(this.resnet.forward(pixelValues).poolerOutput);
  }
}
