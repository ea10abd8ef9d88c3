import { BasicBlock } from '@ringrun/examples-cifar';
import { F, nn, type Tensor } from '@ringrun/nn';

/** Architectures of torchvision, by their numbers of blocks. */
const blocks = { resnet18: [2, 2, 2, 2], resnet34: [3, 4, 6, 3] } as const;

/** Name of an encoder. */
export type EncoderName = keyof typeof blocks;

export const encoderNames = Object.keys(blocks) as EncoderName[];

/** The convolutions of torchvision's ResNet-18 and ResNet-34, under their names: `fc` of a file has no counterpart. */
export class ResNetEncoder extends nn.Module {
  readonly conv1: nn.Conv2d;
  readonly bn1: nn.BatchNorm2d;
  readonly maxpool = new nn.MaxPool2d(3, { stride: 2, padding: 1 });
  readonly layer1: nn.Sequential;
  readonly layer2: nn.Sequential;
  readonly layer3: nn.Sequential;
  readonly layer4: nn.Sequential;
  /** Channels of the features, from half of the size of the image to 1/32. */
  readonly channels: readonly number[];

  /** @param width channels of the first convolution; 64 in torchvision */
  constructor(name: EncoderName, width = 64) {
    super();
    this.channels = [width, width, 2 * width, 4 * width, 8 * width];
    this.conv1 = new nn.Conv2d(3, width, 7, { stride: 2, padding: 3, bias: false });
    this.bn1 = new nn.BatchNorm2d(width);
    const [one, two, three, four] = blocks[name];
    this.layer1 = stage(width, width, one, 1);
    this.layer2 = stage(width, 2 * width, two, 2);
    this.layer3 = stage(2 * width, 4 * width, three, 2);
    this.layer4 = stage(4 * width, 8 * width, four, 2);
  }

  /** Maps images [N, 3, H, W] to features [N, channels[i], H / 2^(i + 1), W / 2^(i + 1)]. */
  forward(images: Tensor): Tensor[] {
    const first = F.relu(this.bn1.forward(this.conv1.forward(images)));
    const features = [first];
    let x = this.maxpool.forward(first);
    for (const layer of [this.layer1, this.layer2, this.layer3, this.layer4]) {
      x = layer.forward(x);
      features.push(x);
    }
    return features;
  }
}

function stage(from: number, to: number, count: number, stride: number): nn.Sequential {
  const others = Array.from({ length: count - 1 }, () => new BasicBlock(to, to, 1));
  return new nn.Sequential(new BasicBlock(from, to, stride), ...others);
}
