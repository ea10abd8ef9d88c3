import { AsyncLocalStorage } from 'node:async_hooks';
import { isNode, type Value } from '../graph/node.ts';
import { detach } from '../ops/elementwise.ts';

/** False inside `noGrad`, even after an `await` inside it, but not in code that runs concurrently. */
const gradients = new AsyncLocalStorage<boolean>();

/**
 * Runs a function with gradients disabled (torch.no_grad), for evaluation and for the targets of a loss. Parameters
 * created inside are still trainable.
 *
 * @param run synchronous or asynchronous
 * @returns the result of `run`
 */
export function noGrad<T>(run: () => T): T {
  return gradients.run(false, run);
}

/**
 * Runs a function with gradients enabled, inside `noGrad` (torch.enable_grad).
 *
 * @param run synchronous or asynchronous
 * @returns the result of `run`
 */
export function enableGrad<T>(run: () => T): T {
  return isGradEnabled() ? run() : gradients.run(true, run);
}

/**
 * `noGrad` by the name that torch has for evaluation (torch.inference_mode). Graphs keep no values for a backward pass that never
 * comes, so both take the same time. Unlike torch's, its results may be used in a training step, as constants.
 *
 * @param run synchronous or asynchronous
 * @returns the result of `run`
 */
export function inferenceMode<T>(run: () => T): T {
  return noGrad(run);
}

/** False inside `noGrad` and `inferenceMode` (torch.is_grad_enabled). */
export function isGradEnabled(): boolean {
  return gradients.getStore() !== false;
}

/** Detaches a value inside `noGrad`; elsewhere returns it unchanged. */
export function asRecorded(value: Value): Value {
  return isGradEnabled() || leadsNowhere(value) ? value : detach(value);
}

function leadsNowhere({ node }: Value): boolean {
  if (isNode(node, 'Input')) return node.attributes.source.parameter === undefined;
  return isNode(node, 'Identity') || isNode(node, 'Number') || isNode(node, 'Constant');
}
