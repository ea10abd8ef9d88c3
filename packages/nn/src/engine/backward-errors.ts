import { NnError } from '../errors/errors.ts';
import { isNode, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { describeType } from '../value-type.ts';

/** The error of a loss that is not one number, and whose gradient was not given. */
export function backwardOfMany(loss: Value): NnError {
  return new NnError(
    'ERR_BACKWARD',
    `backward: expected a loss of one float32 number, got ${describeType(loss)}. Reduce it first with sum() or mean(), or pass the gradient of each element: y.backward(onesLike(y)).`,
  );
}

/** The error of a loss without a gradient. */
export function noGradient(loss: Value): NnError {
  return new NnError('ERR_BACKWARD', noGradientReason(loss));
}

function noGradientReason(loss: Value): string {
  const nodes = topologicalOrder([loss]);
  const sources = nodes.flatMap((node) => (isNode(node, 'Input') ? [node.attributes.source] : []));
  if (nodes.some((node) => isNode(node, 'Variable')) || sources.some(({ parameter }) => parameter)) {
    return 'backward: the loss depends on Parameters only through noGrad or detach(), which block gradients. Compute it outside of them.';
  }
  return sources.some(({ frozen }) => frozen !== undefined)
    ? 'backward: the loss depends on frozen Parameters only, which have no gradient. Set requiresGrad = true of those to train before forward.'
    : 'backward: the loss does not depend on any Parameter, so there is no gradient to compute. Train Parameters, or set x.requiresGrad = true of a tensor before it is used.';
}
