import { BasicBlock, conv3x3 } from '@ringrun/examples-cifar';
import { F, nn, type Tensor } from '@ringrun/nn';

/** Three blocks of a ResNet, under the names of torchvision; 77,104 parameters. */
export class ResNetEncoder extends nn.Module {
  readonly conv1 = conv3x3(1, 16, 1);
  readonly bn1 = new nn.BatchNorm2d(16);
  readonly layer1 = new BasicBlock(16, 16, 1);
  readonly layer2 = new BasicBlock(16, 32, 2);
  readonly layer3 = new BasicBlock(32, 64, 2);

  /** Maps images [N, 1, H, W] to features [N, 64]. */
  forward(images: Tensor): Tensor {
    const x = F.relu(this.bn1.forward(this.conv1.forward(images)));
    return this.layer3.forward(this.layer2.forward(this.layer1.forward(x))).mean([2, 3]);
  }
}

/** A frozen encoder and a head that is trained; 4,485 parameters. */
export class DigitClassifier extends nn.Module {
  readonly encoder = new ResNetEncoder();
  readonly head = new nn.Sequential(new nn.Linear(64, 64), new nn.ReLU(), new nn.Linear(64, 5));

  /** Maps images [N, 1, H, W] to scores [N, 5]. */
  forward(images: Tensor): Tensor {
    return this.head.forward(this.encoder.forward(images));
  }

  /** The encoder stays in evaluation mode while it is frozen: its running statistics are those of its weights. */
  override train(mode = true): this {
    super.train(mode);
    if (!this.encoder.conv1.weight.requiresGrad) this.encoder.eval();
    return this;
  }
}
