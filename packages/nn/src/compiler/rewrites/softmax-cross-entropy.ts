import { isNode } from '../../graph/node.ts';
import { softmaxCrossEntropy } from '../../ops/own/softmax-cross-entropy.ts';
import type { Rewrite } from '../rewrite.ts';

/** nllLoss(logSoftmax(x)) is the cross-entropy of x, which needs no array of log-probabilities. */
export const softmaxCrossEntropyOfLogSoftmax: Rewrite = (node) => {
  if (!isNode(node, 'NegativeLogLikelihoodLoss')) return undefined;
  const [{ node: input }, target] = node.inputs;
  if (!isNode(input, 'LogSoftmax') || node.inputs[0].dtype !== 'float32' || input.attributes.axis !== 1)
    return undefined;
  const { ignoreIndex } = node.attributes;
  return softmaxCrossEntropy(input.inputs[0], target, { ignoreIndex, reduction: 'mean' });
};
