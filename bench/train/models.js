// The models of bench:train, imported from the examples; bench/train/models.py has the same in PyTorch. `shape` is
// the shape of one image, `steps` the number of measured steps per round.
import { Cnn, ResNet18 } from '@ringrun/examples-cifar';
import { Net } from '@ringrun/examples-mnist';

export const models = {
  mnist: { create: () => new Net(), shape: [1, 28, 28], steps: 150 },
  cifar: { create: () => new Cnn(), shape: [3, 32, 32], steps: 150 },
  resnet18: { create: () => new ResNet18(), shape: [3, 32, 32], steps: 6 },
};
