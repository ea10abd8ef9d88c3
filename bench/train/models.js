// The models of bench:train, as bench/train/models.py has them. `shape`: of one image; `steps`: measured in a round.
import { F, nn } from '@ringrun/nn';

/** Kubeflow's MNIST example. */
class MnistCnn extends nn.Module {
  conv1 = new nn.Conv2d(1, 20, 5);
  conv2 = new nn.Conv2d(20, 50, 5);
  fc1 = new nn.Linear(800, 500);
  fc2 = new nn.Linear(500, 10);

  forward(images) {
    const first = F.maxPool2d(F.relu(this.conv1.forward(images)), 2);
    const second = F.maxPool2d(F.relu(this.conv2.forward(first)), 2);
    const hidden = F.relu(this.fc1.forward(F.flatten(second)));
    return F.logSoftmax(this.fc2.forward(hidden), 1);
  }
}

/** The CNN of PyTorch's tutorial "Training a classifier". */
class CifarCnn extends nn.Module {
  conv1 = new nn.Conv2d(3, 6, 5);
  conv2 = new nn.Conv2d(6, 16, 5);
  fc1 = new nn.Linear(400, 120);
  fc2 = new nn.Linear(120, 84);
  fc3 = new nn.Linear(84, 10);

  forward(images) {
    const first = F.maxPool2d(F.relu(this.conv1.forward(images)), 2);
    const second = F.maxPool2d(F.relu(this.conv2.forward(first)), 2);
    const hidden = F.relu(this.fc1.forward(F.flatten(second)));
    const scores = this.fc3.forward(F.relu(this.fc2.forward(hidden)));
    return F.logSoftmax(scores, 1);
  }
}

const conv3x3 = (from, to, stride) => new nn.Conv2d(from, to, 3, { stride, padding: 1, bias: false });

class BasicBlock extends nn.Module {
  constructor(from, to, stride) {
    super();
    this.conv1 = conv3x3(from, to, stride);
    this.bn1 = new nn.BatchNorm2d(to);
    this.conv2 = conv3x3(to, to, 1);
    this.bn2 = new nn.BatchNorm2d(to);
    if (stride !== 1 || from !== to) {
      this.shortcut = new nn.Conv2d(from, to, 1, { stride, bias: false });
      this.bn3 = new nn.BatchNorm2d(to);
    }
  }

  forward(input) {
    const hidden = F.relu(this.bn1.forward(this.conv1.forward(input)));
    const residual = this.bn2.forward(this.conv2.forward(hidden));
    const past = this.shortcut ? this.bn3.forward(this.shortcut.forward(input)) : input;
    return F.relu(residual.add(past));
  }
}

/** ResNet-18 as it is used for images of 32×32: a first convolution of 3×3, and no pooling behind it (He et al. 2015, section 4.2, with basic blocks of 64 to 512 channels). */
class ResNet18 extends nn.Module {
  constructor() {
    super();
    this.conv1 = conv3x3(3, 64, 1);
    this.bn1 = new nn.BatchNorm2d(64);
    const blocks = [];
    let from = 64;
    for (const [stage, to] of [64, 128, 256, 512].entries()) {
      for (const place of [1, 2]) {
        blocks.push(new BasicBlock(from, to, place === 1 && stage > 0 ? 2 : 1));
        from = to;
      }
    }
    this.blocks = new nn.Sequential(...blocks);
    this.fc = new nn.Linear(512, 10);
  }

  forward(images) {
    const first = F.relu(this.bn1.forward(this.conv1.forward(images)));
    return F.logSoftmax(this.fc.forward(this.blocks.forward(first).mean([2, 3])), 1);
  }
}

export const models = {
  mnist: { create: () => new MnistCnn(), shape: [1, 28, 28], steps: 150 },
  cifar: { create: () => new CifarCnn(), shape: [3, 32, 32], steps: 150 },
  resnet18: { create: () => new ResNet18(), shape: [3, 32, 32], steps: 6 },
};
