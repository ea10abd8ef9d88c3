import { conv3x3 } from '@ringrun/examples-cifar';
import { F, cat, nn, type Tensor } from '@ringrun/nn';
import { ResNetEncoder } from './resnet-encoder.ts';
import type { EncoderName } from './resnet-encoder.ts';

/** Doubles the size by a 1×1 convolution whose channels become pixels (fastai's PixelShuffle_ICNR). */
class PixelShuffleUp extends nn.Module {
  readonly conv: nn.Conv2d;
  readonly shuffle = new nn.PixelShuffle(2);

  constructor(from: number, to: number) {
    super();
    this.conv = new nn.Conv2d(from, 4 * to, 1);
  }

  forward(x: Tensor): Tensor {
    return F.relu(this.shuffle.forward(this.conv.forward(x)));
  }
}

/** Doubles the size, and joins the features of the encoder at that size (fastai's UnetBlock). */
class UpBlock extends nn.Module {
  readonly up: PixelShuffleUp;
  readonly bn: nn.BatchNorm2d;
  readonly conv1: nn.Conv2d;
  readonly conv2: nn.Conv2d;
  readonly bn1: nn.BatchNorm2d;
  readonly bn2: nn.BatchNorm2d;

  constructor(from: number, skip: number, to: number) {
    super();
    this.up = new PixelShuffleUp(from, to);
    this.bn = new nn.BatchNorm2d(skip);
    this.conv1 = conv3x3(to + skip, to, 1);
    this.bn1 = new nn.BatchNorm2d(to);
    this.conv2 = conv3x3(to, to, 1);
    this.bn2 = new nn.BatchNorm2d(to);
  }

  forward(x: Tensor, skip: Tensor): Tensor {
    const joined = F.relu(cat([this.up.forward(x), this.bn.forward(skip)], 1));
    const hidden = F.relu(this.bn1.forward(this.conv1.forward(joined)));
    return F.relu(this.bn2.forward(this.conv2.forward(hidden)));
  }
}

/** Options of a {@link UNet}. */
export interface UNetOptions {
  encoder: EncoderName;
  numClasses: number;
  /** Channels of the encoder's first convolution. Default: 64, as in torchvision. */
  width?: number;
}

/**
 * A U-Net whose encoder is a ResNet (fastai's DynamicUnet of `unet_learner`): its features are upsampled by pixel shuffles,
 * and joined with those of each larger size.
 */
export class UNet extends nn.Module {
  readonly encoder: ResNetEncoder;
  readonly up1: UpBlock;
  readonly up2: UpBlock;
  readonly up3: UpBlock;
  readonly up4: UpBlock;
  readonly last: PixelShuffleUp;
  readonly head: nn.Conv2d;

  constructor({ encoder, numClasses, width = 64 }: UNetOptions) {
    super();
    this.encoder = new ResNetEncoder(encoder, width);
    const [c1, c2, c3, c4, c5] = this.encoder.channels;
    this.up1 = new UpBlock(c5, c4, c4);
    this.up2 = new UpBlock(c4, c3, c3);
    this.up3 = new UpBlock(c3, c2, c2);
    this.up4 = new UpBlock(c2, c1, c1);
    this.last = new PixelShuffleUp(c1, c1);
    this.head = new nn.Conv2d(c1, numClasses, 1);
  }

  /** Maps images [N, 3, H, W], whose sides are multiples of 32, to scores [N, numClasses, H, W]. */
  forward(images: Tensor): Tensor {
    const [f1, f2, f3, f4, f5] = this.encoder.forward(images);
    const x = this.up4.forward(this.up3.forward(this.up2.forward(this.up1.forward(f5, f4), f3), f2), f1);
    return this.head.forward(this.last.forward(x));
  }

  /** Excludes the encoder from training (fastai's Learner.freeze). */
  freeze(): void {
    this.encoder.requiresGrad(false);
    this.encoder.eval();
  }

  /** Trains all parameters (fastai's Learner.unfreeze). */
  unfreeze(): void {
    this.encoder.requiresGrad(true);
    this.encoder.train(this.training);
  }

  /** A frozen encoder stays in evaluation mode: its running statistics are those of its weights. */
  override train(mode = true): this {
    super.train(mode);
    if (!this.encoder.conv1.weight.requiresGrad) this.encoder.eval();
    return this;
  }
}
