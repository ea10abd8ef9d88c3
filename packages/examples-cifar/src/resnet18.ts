import { F, nn, type Tensor } from '@ringrun/nn';

/**
 * ResNet-18 for 32×32 images: the first convolution is 3×3, without pooling after it (He et al., "Deep Residual
 * Learning for Image Recognition", 2015, section 4.2, with basic blocks of 64 to 512 channels).
 * Parameter names match torchvision; 11,173,962 parameters.
 */
export class ResNet18 extends nn.Module {
  readonly conv1 = conv3x3(3, 64, 1);
  readonly bn1 = new nn.BatchNorm2d(64);
  readonly layer1 = stage(64, 64, 1);
  readonly layer2 = stage(64, 128, 2);
  readonly layer3 = stage(128, 256, 2);
  readonly layer4 = stage(256, 512, 2);
  readonly fc = new nn.Linear(512, 10);

  /** Maps images [N, 3, 32, 32] to log probabilities [N, 10]. */
  forward(images: Tensor): Tensor {
    let x = F.relu(this.bn1.forward(this.conv1.forward(images)));
    for (const layer of [this.layer1, this.layer2, this.layer3, this.layer4]) x = layer.forward(x);
    return F.logSoftmax(this.fc.forward(x.mean([2, 3])), 1);
  }
}

/** Two convolutions with a shortcut from input to output. */
export class BasicBlock extends nn.Module {
  readonly conv1: nn.Conv2d;
  readonly bn1: nn.BatchNorm2d;
  readonly conv2: nn.Conv2d;
  readonly bn2: nn.BatchNorm2d;
  /** Projects the input to the output's shape, if the shapes differ. */
  readonly downsample: nn.Sequential | undefined;

  constructor(from: number, to: number, stride: number) {
    super();
    this.conv1 = conv3x3(from, to, stride);
    this.bn1 = new nn.BatchNorm2d(to);
    this.conv2 = conv3x3(to, to, 1);
    this.bn2 = new nn.BatchNorm2d(to);
    if (stride === 1 && from === to) return;
    const shortcut = new nn.Conv2d(from, to, 1, { stride, bias: false });
    this.downsample = new nn.Sequential(shortcut, new nn.BatchNorm2d(to));
  }

  forward(given: Tensor): Tensor {
    const hidden = F.relu(this.bn1.forward(this.conv1.forward(given)));
    const made = this.bn2.forward(this.conv2.forward(hidden));
    return F.relu(made.add(this.downsample ? this.downsample.forward(given) : given));
  }
}

function stage(from: number, to: number, stride: number): nn.Sequential {
  return new nn.Sequential(new BasicBlock(from, to, stride), new BasicBlock(to, to, 1));
}

/** A 3×3 convolution without bias, which keeps the size if the stride is 1. */
export function conv3x3(from: number, to: number, stride: number): nn.Conv2d {
  return new nn.Conv2d(from, to, 3, { stride, padding: 1, bias: false });
}
