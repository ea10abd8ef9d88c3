import { F, nn, tensor, type Tensor } from '../../src/index.ts';
import { fill, fillClasses } from './fill.ts';

/** [N, 1, 12, 12] to the logarithms of 5 probabilities. In training mode its graph has a new dropout key at every call. */
export class SmallCnn extends nn.Module {
  conv = new nn.Conv2d(1, 4, 3, { padding: 1 });
  dropout = new nn.Dropout(0.5);
  fc = new nn.Linear(4 * 6 * 6, 5);

  forward(images: Tensor): Tensor {
    const pooled = F.maxPool2d(F.relu(this.conv.forward(images)), 2);
    return F.logSoftmax(this.fc.forward(this.dropout.forward(pooled.flatten(1))), 1);
  }
}

/** Images of 12 × 12 and their classes from 0 to 4. */
export function smallBatch(seed: number, size = 6): [images: Tensor, labels: Tensor] {
  const shape = [size, 1, 12, 12];
  return [tensor(fill(shape, seed), shape), tensor(fillClasses(size, 5, seed))];
}
