import { sayWhatTheBackendCosts } from './backend.ts';
import { Distribution } from './distribution.ts';
import { TfjsError } from './errors.ts';
import { checkedAccumulation, requireDistributeOptions, type DistributeOptions } from './options.ts';
import { requireDistributedDataParallel, requireGroup } from './ringrun.ts';
import type { AnyOptimizer, Optimizer } from './tensorflow.ts';

/** Known by its name, so that a second copy of this package sees what the first has distributed. */
const key = Symbol.for('ringrun.tfjs.distribution');

type Distributed = Partial<Record<typeof key, Distribution>>;

/**
 * Lets an optimizer of TensorFlow.js train on all ranks together (Horovod: DistributedOptimizer; torch: DistributedDataParallel): what it applies is the average of the ranks'
 * gradients, so that equal optimizers keep the variables bit-identical.
 *
 *     await initProcessGroup();
 *     model.compile({ optimizer: distribute(tf.train.adam()), loss: 'categoricalCrossentropy' });
 *     await model.fit(xs, ys); // this rank's share of the data
 *
 * The optimizer itself is changed and returned, so that its learning rate, its weights and `model.save` are what they were. `minimize`, `computeGradients` and `applyGradients`
 * (in `fit`, `fitDataset`, `trainOnBatch` or a loop of your own) become collectives: every rank calls them equally often. They average on the calling thread, because
 * tf optimizers return nothing to wait for.
 *
 * The first step refuses models and optimizers that differ between ranks, and gives every rank the variables of rank 0. Variables that no rank's loss depends on keep their
 * values and are named once, on stderr of rank 0; those that some rank's depends on are averaged, the others' gradients being zeros. Variables that a forward pass assigns, such
 * as the running means of a batch normalization, become those of rank 0 after each step.
 *
 * @throws TfjsError `ERR_NOT_INITIALIZED` outside of a group; `ERR_ALREADY_DISTRIBUTED` for an optimizer that is distributed; `ERR_ARGUMENT` for what is no optimizer, or
 * cannot work; `ERR_DEVICES` for a host with fewer visible GPUs than ranks. In the first step, on every rank: ringrun's ModelMismatchError; TfjsError `ERR_OPTIMIZER_MISMATCH`,
 * and `ERR_VARIABLES_DIFFER` for gradients that were computed with different variables
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
  if ((optimizer as Distributed)[key] !== undefined) {
    throw new TfjsError(
      'ERR_ALREADY_DISTRIBUTED',
      'distribute was called a second time for one optimizer, whose gradients would be averaged twice. It changes the optimizer itself: call it once.',
    );
  }
  const distribution = new Distribution(optimizer as unknown as Optimizer, settings, () => {
    sayWhatTheBackendCosts(group);
  });
  for (const name of ['minimize', 'computeGradients', 'applyGradients'] as const) {
    hide(optimizer, name, distribution[name].bind(distribution));
  }
  hide(optimizer, key, distribution);
  return optimizer;
}

/**
 * Names of the variables on which no rank's loss depended in the last step, in the order of definition; the same on every rank.
 *
 * @throws TfjsError `ERR_NOT_DISTRIBUTED` for an optimizer that is not distributed
 */
export function unusedVariables(optimizer: AnyOptimizer): readonly string[] {
  const distribution = (optimizer as Distributed)[key];
  if (distribution !== undefined) return distribution.unused;
  throw new TfjsError(
    'ERR_NOT_DISTRIBUTED',
    'unusedVariables: the optimizer is not distributed. Call distribute(optimizer) first.',
  );
}

/** tf recognises optimizers by these methods too, of whichever copy of tfjs-core they are. */
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

/** Not enumerable: whoever lists an optimizer's fields sees those of tf. */
function hide(optimizer: object, name: string | symbol, value: unknown): void {
  Object.defineProperty(optimizer, name, { value, configurable: true, writable: true, enumerable: false });
}
