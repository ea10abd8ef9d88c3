import { AsyncLocalStorage } from 'node:async_hooks';
import { isNode, type Value } from './graph/node.ts';
import { detach } from './ops/elementwise.ts';

/** Entered by `noGrad`; belongs to the calls inside, those behind an `await` too, and to nothing that runs meanwhile. */
const withoutGradients = new AsyncLocalStorage<true>();

/**
 * Runs a function whose tensors do not lead back to parameters (torch.no_grad): for evaluation, and for targets that a loss compares with.
 * `backward` gives no gradient through them. Parameters that are made inside are trainable all the same.
 *
 * @param run may be asynchronous
 * @returns what `run` gives
 */
export function noGrad<T>(run: () => T): T {
  return withoutGradients.run(true, run);
}

/** A value as it is where it was computed: inside `noGrad`, without a way back to the parameters. */
export function asRecorded(value: Value): Value {
  return withoutGradients.getStore() === undefined || leadsNowhere(value) ? value : detach(value);
}

function leadsNowhere({ node }: Value): boolean {
  if (isNode(node, 'Input')) return node.attributes.source.parameter === undefined;
  return isNode(node, 'Identity') || isNode(node, 'Number') || isNode(node, 'Constant');
}
