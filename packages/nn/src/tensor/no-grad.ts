import { AsyncLocalStorage } from 'node:async_hooks';
import { isNode, type Value } from '../graph/node.ts';
import { detach } from '../ops/elementwise.ts';

/** Set inside `noGrad`, even after an `await` inside it, but not in code that runs concurrently. */
const withoutGradients = new AsyncLocalStorage<true>();

/**
 * Runs a function with gradients disabled (torch.no_grad), for evaluation and for the targets of a loss. Parameters
 * created inside are still trainable.
 *
 * @param run synchronous or asynchronous
 * @returns the result of `run`
 */
export function noGrad<T>(run: () => T): T {
  return withoutGradients.run(true, run);
}

/** Detaches a value inside `noGrad`; elsewhere returns it unchanged. */
export function asRecorded(value: Value): Value {
  return withoutGradients.getStore() === undefined || leadsNowhere(value) ? value : detach(value);
}

function leadsNowhere({ node }: Value): boolean {
  if (isNode(node, 'Input')) return node.attributes.source.parameter === undefined;
  return isNode(node, 'Identity') || isNode(node, 'Number') || isNode(node, 'Constant');
}
