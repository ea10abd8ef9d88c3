import { registry, type ProcessGroup } from '@ringrun/core';
import { DistributedOptimizer } from './distributed-optimizer.ts';
import { TfjsError } from './errors.ts';
import { checkedAccumulation, requireDistributeOptions, type DistributeOptions } from './options.ts';
import { slownessOf } from './process/backend.ts';
import { devicesProblem } from './process/devices.ts';
import { requireDistributedDataParallel, requireGroup } from './ringrun.ts';
import { engine, type AnyOptimizer, type Optimizer } from './tensorflow.ts';

/**
 * Makes a TensorFlow.js optimizer apply the average of all ranks' gradients, which keeps variables bit-identical on all
 * ranks (Horovod: DistributedOptimizer; torch: DistributedDataParallel).
 *
 *     await initProcessGroup();
 *     model.compile({ optimizer: distribute(tf.train.adam()), loss: 'categoricalCrossentropy' });
 *     await model.fit(xs, ys); // this rank's share of the data
 *
 * The optimizer is changed in place and returned; its learning rate, weights and `model.save` work as before. `minimize`,
 * `computeGradients` and `applyGradients` (in `fit`, `fitDataset`, `trainOnBatch` or your own loop) become collectives:
 * every rank must call them equally often. They block the calling thread, because tf optimizers are synchronous.
 *
 * The first step rejects models and optimizers that differ between ranks, then broadcasts the variables of rank 0.
 * Variables that no rank's loss depends on keep their values and are reported once, on stderr of rank 0. If only some
 * ranks' losses depend on a variable, the other ranks contribute zeros to its average. Variables that a forward pass
 * assigns, such as the running means of batch normalization, are broadcast from rank 0 after each step.
 *
 * @throws TfjsError `ERR_NOT_INITIALIZED` without a process group; `ERR_ALREADY_DISTRIBUTED` for a distributed optimizer;
 *   `ERR_ARGUMENT` for invalid arguments; `ERR_DEVICES` if the host has fewer visible GPUs than ranks.
 *   In the first step, on every rank: ringrun's ModelMismatchError, or TfjsError `ERR_OPTIMIZER_MISMATCH` or
 *   `ERR_VARIABLES_DIFFER` (gradients were computed with different variables).
 */
export function distribute<Given extends AnyOptimizer>(
  optimizer: Given,
  options: DistributeOptions = {},
): Given {
  requireOptimizer(optimizer);
  requireDistributeOptions(options);
  const group = requireGroup('distribute', options.processGroup);
  requireDistributedDataParallel();
  const settings = { ...options, group, accumulation: checkedAccumulation(options) };
  if (registry.tfjsDistributions.has(optimizer)) {
    throw new TfjsError(
      'ERR_ALREADY_DISTRIBUTED',
      'distribute: this optimizer is already distributed, and its gradients would be averaged twice. Call distribute once per optimizer.',
    );
  }
  const distribution = new DistributedOptimizer(optimizer as unknown as Optimizer, settings, () => {
    checkBackend(group);
  });
  for (const name of ['minimize', 'computeGradients', 'applyGradients'] as const) {
    hide(optimizer, name, distribution[name].bind(distribution));
  }
  registry.tfjsDistributions.set(optimizer, distribution);
  return optimizer;
}

/**
 * Names of the variables on which no rank's loss depended in the last step, in definition order. Equal on every rank.
 *
 * @throws TfjsError `ERR_NOT_DISTRIBUTED` for an optimizer that is not distributed
 */
export function unusedVariables(optimizer: AnyOptimizer): readonly string[] {
  const distribution = registry.tfjsDistributions.get(optimizer);
  if (distribution !== undefined) return distribution.unused;
  throw new TfjsError(
    'ERR_NOT_DISTRIBUTED',
    'unusedVariables: the optimizer is not distributed. Call distribute(optimizer) first.',
  );
}

/** Duck typing, as in tf, so that optimizers of any copy of tfjs-core are accepted. */
function requireOptimizer(optimizer: unknown): void {
  const methods = (optimizer ?? {}) as Record<string, unknown>;
  const missing = ['minimize', 'computeGradients', 'applyGradients'].filter(
    (name) => typeof methods[name] !== 'function',
  );
  if (missing.length === 0) return;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `distribute: expected an optimizer such as tf.train.adam(), got ${describe(optimizer)} without ${missing.join(', ')}.`,
  );
}

function describe(thing: unknown): string {
  return typeof thing === 'string' ? `'${thing}'` : typeof thing;
}

/** Adds a property that is not enumerable, so that listing an optimizer's fields shows only those of tf. */
function hide(optimizer: object, name: string, value: unknown): void {
  Object.defineProperty(optimizer, name, { value, configurable: true, writable: true, enumerable: false });
}

let hasWarned = false;

/**
 * Prints once why TensorFlow.js computes slower than its package can.
 *
 * @throws TfjsError `ERR_DEVICES` if tfjs-node-gpu is used and this rank does not have its own GPU
 */
function checkBackend({ rank }: Pick<ProcessGroup, 'rank'>): void {
  const used = engine();
  const { isGPUPackage } = used.backend as { isGPUPackage?: boolean };
  const problem = isGPUPackage === true ? devicesProblem(process.env) : undefined;
  if (problem !== undefined) throw new TfjsError('ERR_DEVICES', `distribute: ${problem}`);
  if (hasWarned) return;
  hasWarned = true;
  const reason = slownessOf(used, rank);
  if (reason !== undefined) process.stderr.write(`ringrun: ${reason} (printed once)\n`);
}
