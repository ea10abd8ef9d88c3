import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
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
  return runWith(false, run);
}

/** True once a function may have begun something asynchronous, which may continue inside `noGrad`. */
let mayContinue = false;

/**
 * Runs a function with gradients enabled or disabled. On Node 20, AsyncLocalStorage makes every promise of the process slower from
 * its first use on, so it is disabled again after functions that begin nothing asynchronous.
 */
function runWith<T>(enabled: boolean, run: () => T): T {
  if (mayContinue || gradients.getStore() !== undefined) return gradients.run(enabled, run);
  return gradients.run(enabled, () => {
    const before = resourcesSoFar();
    try {
      return run();
    } finally {
      mayContinue = resourcesSoFar() !== before + 1 || !countsPromises();
      if (!mayContinue) gradients.disable();
    }
  });
}

let isCounting: boolean | undefined;

/** False on versions of Node.js that follow promises without hooks. There AsyncLocalStorage makes them no slower. */
function countsPromises(): boolean {
  if (isCounting !== undefined) return isCounting;
  const before = resourcesSoFar();
  void Promise.resolve();
  return (isCounting = resourcesSoFar() === before + 2);
}

/** The number of promises, timers and other asynchronous resources of the process, including the one that counts them. */
function resourcesSoFar(): number {
  return new AsyncResource('ringrun noGrad', { requireManualDestroy: true }).asyncId();
}

/**
 * Runs a function with gradients enabled, inside `noGrad` (torch.enable_grad).
 *
 * @param run synchronous or asynchronous
 * @returns the result of `run`
 */
export function enableGrad<T>(run: () => T): T {
  return isGradEnabled() ? run() : runWith(true, run);
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
