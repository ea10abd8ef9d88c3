import { F, nn, type Tensor } from '@ringrun/nn';

/** The CNN of PyTorch's tutorial "Training a classifier": 2 convolutions with max-pooling, 3 linear layers; 62,006 parameters. */
export class Cnn extends nn.Module {
  readonly conv1 = new nn.Conv2d(3, 6, 5);
  readonly conv2 = new nn.Conv2d(6, 16, 5);
  readonly fc1 = new nn.Linear(16 * 5 * 5, 120);
  readonly fc2 = new nn.Linear(120, 84);
  readonly fc3 = new nn.Linear(84, 10);

  /** Maps images [N, 3, 32, 32] to log probabilities [N, 10]. */
  forward(images: Tensor): Tensor {
    let x = F.maxPool2d(F.relu(this.conv1.forward(images)), 2);
    x = F.maxPool2d(F.relu(this.conv2.forward(x)), 2);
    x = F.relu(this.fc1.forward(F.flatten(x)));
    x = F.relu(this.fc2.forward(x));
    return F.logSoftmax(this.fc3.forward(x), 1);
  }
}
