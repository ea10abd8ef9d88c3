import { F, nn, type Tensor } from '@ringrun/nn';

/** The CNN of Kubeflow's MNIST example: 2 convolutions with max-pooling, 2 linear layers; 431,080 parameters. */
export class Net extends nn.Module {
  readonly conv1 = new nn.Conv2d(1, 20, 5);
  readonly conv2 = new nn.Conv2d(20, 50, 5);
  readonly fc1 = new nn.Linear(4 * 4 * 50, 500);
  readonly fc2 = new nn.Linear(500, 10);

  /** Maps images [N, 1, 28, 28] to log probabilities [N, 10]. */
  forward(images: Tensor): Tensor {
    let x = F.maxPool2d(F.relu(this.conv1.forward(images)), 2);
    x = F.maxPool2d(F.relu(this.conv2.forward(x)), 2);
    x = F.relu(this.fc1.forward(F.flatten(x)));
    return F.logSoftmax(this.fc2.forward(x), 1);
  }
}
