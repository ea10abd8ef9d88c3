import { ArgumentError } from '../errors.ts';
import { isNode } from '../graph/node.ts';
import { negativeLogLikelihood } from '../ops/softmax.ts';
import { Tensor } from '../tensor.ts';

/**
 * Mean of −logProbabilities[n, target[n]] (torch.nn.functional.nll_loss): [N, C] and int64 [N] give a scalar.
 *
 * @throws ArgumentError for a target that is not a class from 0 to C − 1
 */
export function nllLoss(logProbabilities: Tensor, target: Tensor): Tensor {
  requireClasses(target, logProbabilities.shape[1]);
  return new Tensor(negativeLogLikelihood(logProbabilities.value, target.value));
}

/** ONNX takes a negative class as counted from the last, and would learn the wrong thing from it. */
function requireClasses({ value: { node } }: Tensor, count: number): void {
  if (!isNode(node, 'Input')) return;
  for (const [row, label] of node.attributes.source.data.entries()) {
    if (label < 0 || label >= count) {
      throw new ArgumentError(
        `nllLoss: target ${label} in row ${row} is not a class from 0 to ${count - 1}; the log-probabilities have ${count} columns.`,
      );
    }
  }
}
