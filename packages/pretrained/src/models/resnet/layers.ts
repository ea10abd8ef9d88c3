import { nn, type Tensor } from '@ringrun/nn';
import { activationOf, type Activation } from '../shared/activations.ts';
import type { ResNetConfig } from './config.ts';

/** Any layer of images. */
type ImageLayer = nn.Module & { forward(images: Tensor): Tensor };

const same: Activation = (images) => images;

/** Options of {@link ResNetConvLayer}. */
interface ConvLayerOptions {
  kernelSize?: number;
  stride?: number;
  activation?: Activation;
}

/** A convolution, a normalization and an activation. */
export class ResNetConvLayer extends nn.Module {
  readonly convolution: nn.Conv2d;
  readonly normalization: nn.BatchNorm2d;
  readonly activation: Activation;

  constructor(
    channels: number,
    outChannels: number,
    { kernelSize = 3, stride = 1, activation = activationOf('relu') }: ConvLayerOptions,
  ) {
    super();
    this.convolution = convolution(channels, outChannels, kernelSize, stride);
    this.normalization = new nn.BatchNorm2d(outChannels);
    this.activation = activation;
  }

  /** [N, channels, H, W] to [N, outChannels, H / stride, W / stride] */
  forward(images: Tensor): Tensor {
    return this.activation(this.normalization.forward(this.convolution.forward(images)));
  }
}

/** A convolution of 1×1 and a normalization, for sums of different sizes. */
export class ResNetShortCut extends nn.Module {
  readonly convolution: nn.Conv2d;
  readonly normalization: nn.BatchNorm2d;

  constructor(channels: number, outChannels: number, stride: number) {
    super();
    this.convolution = convolution(channels, outChannels, 1, stride);
    this.normalization = new nn.BatchNorm2d(outChannels);
  }

  /** [N, channels, H, W] to [N, outChannels, H / stride, W / stride] */
  forward(images: Tensor): Tensor {
    return this.normalization.forward(this.convolution.forward(images));
  }
}

/** Without bias, initialized as transformers does. */
function convolution(channels: number, outChannels: number, kernelSize: number, stride: number): nn.Conv2d {
  const padding = Math.floor(kernelSize / 2);
  const layer = new nn.Conv2d(channels, outChannels, kernelSize, { stride, padding, bias: false });
  nn.init.kaimingNormal(layer.weight, { mode: 'fanOut', nonlinearity: 'relu' });
  return layer;
}

/** The first convolution and a pool: height and width are divided by 4. */
export class ResNetEmbeddings extends nn.Module {
  readonly embedder: ResNetConvLayer;
  readonly pooler: nn.MaxPool2d;

  constructor({ num_channels, embedding_size, hidden_act }: ResNetConfig) {
    super();
    this.embedder = new ResNetConvLayer(num_channels, embedding_size, {
      kernelSize: 7,
      stride: 2,
      activation: activationOf(hidden_act),
    });
    this.pooler = new nn.MaxPool2d(3, { stride: 2, padding: 1 });
  }

  /** [N, num_channels, H, W] to [N, embedding_size, H / 4, W / 4] */
  forward(images: Tensor): Tensor {
    return this.pooler.forward(this.embedder.forward(images));
  }
}

/** A sum of the input and of two or three convolutions of it. */
export class ResNetLayer extends nn.Module {
  readonly shortcut: ImageLayer;
  readonly layer: nn.Sequential;
  readonly activation: Activation;

  constructor(channels: number, outChannels: number, stride: number, config: ResNetConfig) {
    super();
    const isSameSize = channels === outChannels && stride === 1;
    this.shortcut = isSameSize ? new nn.Identity() : new ResNetShortCut(channels, outChannels, stride);
    this.layer = new nn.Sequential(
      ...(config.layer_type === 'bottleneck'
        ? bottleneck(channels, outChannels, stride, config.downsample_in_bottleneck)
        : basic(channels, outChannels, stride)),
    );
    this.activation = activationOf(config.hidden_act);
  }

  /** [N, channels, H, W] to [N, outChannels, H / stride, W / stride] */
  forward(images: Tensor): Tensor {
    return this.activation(this.layer.forward(images).add(this.shortcut.forward(images)));
  }
}

function basic(channels: number, outChannels: number, stride: number): ResNetConvLayer[] {
  return [
    new ResNetConvLayer(channels, outChannels, { stride }),
    new ResNetConvLayer(outChannels, outChannels, { activation: same }),
  ];
}

/** Three convolutions, of which the middle one has a fourth of the channels. */
function bottleneck(
  channels: number,
  outChannels: number,
  stride: number,
  downsamplesFirst: boolean,
): ResNetConvLayer[] {
  const [first, second] = downsamplesFirst ? [stride, 1] : [1, stride];
  const inner = Math.floor(outChannels / 4);
  return [
    new ResNetConvLayer(channels, inner, { kernelSize: 1, stride: first }),
    new ResNetConvLayer(inner, inner, { stride: second }),
    new ResNetConvLayer(inner, outChannels, { kernelSize: 1, activation: same }),
  ];
}

/** Layers of one size. */
export class ResNetStage extends nn.Module {
  readonly layers: nn.Sequential;

  constructor(
    channels: number,
    outChannels: number,
    { stride, depth }: { stride: number; depth: number },
    config: ResNetConfig,
  ) {
    super();
    const others = Array.from(
      { length: depth - 1 },
      () => new ResNetLayer(outChannels, outChannels, 1, config),
    );
    this.layers = new nn.Sequential(new ResNetLayer(channels, outChannels, stride, config), ...others);
  }

  /** [N, channels, H, W] to [N, outChannels, H / stride, W / stride] */
  forward(images: Tensor): Tensor {
    return this.layers.forward(images);
  }
}

/** All stages. */
export class ResNetEncoder extends nn.Module {
  readonly stages: nn.ModuleList<ResNetStage>;

  constructor(config: ResNetConfig) {
    super();
    const { embedding_size, hidden_sizes, depths, downsample_in_first_stage } = config;
    this.stages = new nn.ModuleList(
      depths.map((depth, index) => {
        const channels = index === 0 ? embedding_size : hidden_sizes[index - 1];
        const stride = index === 0 && !downsample_in_first_stage ? 1 : 2;
        return new ResNetStage(channels, hidden_sizes[index], { stride, depth }, config);
      }),
    );
  }

  /** [N, embedding_size, H, W] to [N, channels of the last stage, …] */
  forward(images: Tensor): Tensor {
    return [...this.stages].reduce((x, stage) => stage.forward(x), images);
  }
}
