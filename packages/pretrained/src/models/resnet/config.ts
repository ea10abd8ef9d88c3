import { InvalidArgumentError } from '@ringrun/core';
import { completeConfig, requireSettings, type Given, type PretrainedConfig } from '../shared/config.ts';

/** Settings of a ResNet (transformers.ResNetConfig). The defaults are those of `microsoft/resnet-50`. */
export interface ResNetConfig extends PretrainedConfig {
  /** Channels of the images. Default: 3. */
  num_channels: number;
  /** Channels after the first convolution. Default: 64. */
  embedding_size: number;
  /** Channels after each stage. Default: 256, 512, 1,024, 2,048. */
  hidden_sizes: readonly number[];
  /** Number of layers of each stage. Default: 3, 4, 6, 3. */
  depths: readonly number[];
  /** Kind of layers: `basic` with two convolutions, `bottleneck` with three. Default: `bottleneck`. */
  layer_type: string;
  /** Activation function. Default: `relu`. */
  hidden_act: string;
  /** If true, the first stage halves height and width too. Default: false. */
  downsample_in_first_stage: boolean;
  /** If true, the first convolution of a bottleneck halves height and width, else the second. Default: false. */
  downsample_in_bottleneck: boolean;
}

const defaults: ResNetConfig = {
  model_type: 'resnet',
  num_channels: 3,
  embedding_size: 64,
  hidden_sizes: [256, 512, 1024, 2048],
  depths: [3, 4, 6, 3],
  layer_type: 'bottleneck',
  hidden_act: 'relu',
  downsample_in_first_stage: false,
  downsample_in_bottleneck: false,
};

/** The complete settings of a ResNet. */
export function resNetConfig(given: Given<ResNetConfig>): ResNetConfig {
  const config = completeConfig(defaults, given);
  requireSettings(config, { model_type: ['resnet'], layer_type: ['basic', 'bottleneck'] });
  const { hidden_sizes, depths } = config;
  if (depths.length === 0 || hidden_sizes.length !== depths.length) {
    throw new InvalidArgumentError(
      `config of resnet: expected one hidden size and one depth for each stage, got ${hidden_sizes.length} and ${depths.length}.`,
    );
  }
  return config;
}
