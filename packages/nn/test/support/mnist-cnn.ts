import { F, nn, type Tensor } from '../../src/index.ts';

/** The CNN of Kubeflow's MNIST example, as in `test/golden/operators.py`. */
export class MnistCnn extends nn.Module {
  readonly conv1 = new nn.Conv2d(1, 20, 5);
  readonly conv2 = new nn.Conv2d(20, 50, 5);
  readonly fc1 = new nn.Linear(4 * 4 * 50, 500);
  readonly fc2 = new nn.Linear(500, 10);

  /** [N, 1, 28, 28] to the logarithms of 10 probabilities: [N, 10]. */
  forward(images: Tensor): Tensor {
    let x = F.maxPool2d(F.relu(this.conv1.forward(images)), 2);
    x = F.maxPool2d(F.relu(this.conv2.forward(x)), 2);
    x = F.relu(this.fc1.forward(F.flatten(x)));
    return F.logSoftmax(this.fc2.forward(x), 1);
  }
}
