import type { Tensor } from '@ringrun/nn';
import { Accuracy } from '@ringrun/train';

/** Evaluates a loss and the accuracy of scores [N, classes]. */
export function classification(loss: (scores: Tensor, target: Tensor) => Tensor, classes: number) {
  return { loss, metrics: { accuracy: new Accuracy({ task: 'multiclass', numClasses: classes }) } };
}
