// Transfer learning: a frozen backbone with a new head. Its counterpart is transfer.py.
import { F, manualSeed, nn, optim, randint, randn, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

class Net extends nn.Module {
  conv1 = new nn.Conv2d(1, 16, 3, { padding: 1 });
  bn1 = new nn.BatchNorm2d(16);
  conv2 = new nn.Conv2d(16, 32, 3, { padding: 1 });
  bn2 = new nn.BatchNorm2d(32);
  fc: nn.Linear;

  constructor(classes = 10) {
    super();
    this.fc = new nn.Linear(32 * 16, classes);
  }

  forward(x: Tensor): Tensor {
    x = F.maxPool2d(F.relu(this.bn1.forward(this.conv1.forward(x))), 2);
    x = F.maxPool2d(F.relu(this.bn2.forward(this.conv2.forward(x))), 2);
    return this.fc.forward(x.flatten(1));
  }
}

export function start(): Program {
  manualSeed(6);
  const pretrained = new Net();
  const model = new Net();
  model.loadStateDict(pretrained.stateDict());
  for (const parameter of model.parameters()) parameter.requiresGrad = false;
  model.fc = new nn.Linear(model.fc.inFeatures, 5);
  model.eval();
  const trained = model.parameters().filter((parameter) => parameter.requiresGrad);
  const optimizer = new optim.SGD(trained, { lr: 0.01, momentum: 0.9 });
  const patterns = randn(5, 1, 16, 16);

  async function step() {
    const labels = randint(0, 5, [32]);
    const images = patterns.at(labels).add(randn(32, 1, 16, 16));
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.forward(images), labels);
    await loss.backward();
    await optimizer.step();
    return loss.item();
  }

  return { step };
}
