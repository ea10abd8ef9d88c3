import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { registry, type ProcessGroup } from '@ringrun/core';
import { ArgumentError } from '../errors/errors.ts';
import type { CollectiveGroup } from '../graph/attributes.ts';
import { replaceAttribute } from './attributes.ts';
import { BatchNorm, type BatchNormModuleOptions } from './batch-norm.ts';
import { Module } from './module.ts';

/** Options of {@link SyncBatchNorm}. */
export interface SyncBatchNormOptions extends BatchNormModuleOptions {
  /** Ranks whose batches are normalized together, including this one. Default: the default group at each forward call. */
  processGroup?: ProcessGroup;
}

/** Result of `convertSyncBatchNorm`: a new SyncBatchNorm for a batch normalization, else the same module, converted. */
export type Synchronized<M extends Module> = M extends BatchNorm ? SyncBatchNorm : M;

/**
 * Batch normalization of [N, C] or [N, C, …] over the batches of all ranks of a group (torch.nn.SyncBatchNorm). In
 * training, mean, variance and running statistics are computed over the samples of all ranks, and gradients flow back to
 * all ranks. Batches may differ in size and may be empty on some ranks. In evaluation, without a process group or with
 * a world size of 1 it is plain batch normalization.
 *
 * In training, every forward call is a collective when its graph runs: an all-gather of 2·C + 1 numbers, and an
 * all-reduce of 2·C numbers in the backward pass. All ranks must make the same forward calls in the same order, and
 * request dependent values (`backward`, `item`, `array`) together. `item` of a loss after its `backward` is local.
 * Otherwise ranks throw the errors of any collective: CollectiveMismatchError, PeerDiedError, CollectiveTimeoutError.
 *
 * Input gradients are those of the sum of all ranks' losses. Weight and bias have the gradients of this rank's loss,
 * which DistributedDataParallel averages. DistributedDataParallel's `join` rejects models with SyncBatchNorm.
 *
 * @throws ShapeError on every rank, when the graph runs, if all ranks together have fewer than 2 values per channel
 */
export class SyncBatchNorm extends BatchNorm {
  readonly #processGroup: ProcessGroup | undefined;

  constructor(
    ...given: Call<[numFeatures: number, options?: SyncBatchNormOptions | undefined], 'nn.SyncBatchNorm'>
  ) {
    const [numFeatures, options] = arranged('nn.SyncBatchNorm', given);
    const { processGroup, ...others } = options;
    super(numFeatures, others);
    this.#processGroup = checkedGroup(processGroup);
  }

  /**
   * Replaces each batch normalization of a model by a SyncBatchNorm with the same parameters, buffers and settings
   * (torch's convert_sync_batchnorm). Optimizers and DistributedDataParallel may be created before or after, since the
   * Parameter objects are reused.
   *
   * @param module a model, which is changed in place, or a batch normalization, which is not
   * @param processGroup see the constructor
   * @returns the model, or the SyncBatchNorm that replaces a batch normalization
   */
  static convertSyncBatchNorm<M extends Module>(module: M, processGroup?: ProcessGroup): Synchronized<M> {
    checkedGroup(processGroup);
    const options = processGroup === undefined ? {} : { processGroup };
    return converted(module, options, new Map()) as Synchronized<M>;
  }

  override get isCollective(): boolean {
    return true;
  }

  /** @internal */
  protected override get inputs() {
    return { takes: (dims: number) => dims >= 2, written: '[N,C] or [N,C,…]' };
  }

  /** @internal */
  protected override group(): CollectiveGroup | undefined {
    const group = this.#processGroup ?? registry.defaultGroup;
    return group !== undefined && group.size > 1 ? group : undefined;
  }
}

/** JavaScript callers may pass the null that newGroup returns on ranks outside of the group. */
function checkedGroup(group: ProcessGroup | null | undefined): ProcessGroup | undefined {
  if (group !== null) return group;
  throw new ArgumentError(
    'SyncBatchNorm: expected a process group, got null: newGroup returns null if this rank is not in the group. Pass each rank its own group.',
  );
}

/** @param made modules converted so far: a module shared by two parents is converted once */
function converted(module: Module, options: SyncBatchNormOptions, made: Map<Module, Module>): Module {
  const known = made.get(module);
  if (known !== undefined) return known;
  if (module instanceof BatchNorm) {
    const one = synchronized(module, options);
    made.set(module, one);
    return one;
  }
  made.set(module, module);
  for (const [name, child] of module.namedChildren()) {
    const replacement = converted(child, options, made);
    if (replacement !== child) replaceAttribute(module, name, replacement);
  }
  return module;
}

function synchronized(norm: BatchNorm, options: SyncBatchNormOptions): SyncBatchNorm {
  const { numFeatures, ...settings } = norm.settings;
  const { weight, bias, runningMean, runningVar, numBatchesTracked, training } = norm;
  const state = { weight, bias, runningMean, runningVar, numBatchesTracked, training };
  return Object.assign(new SyncBatchNorm(numFeatures, { ...settings, ...options }), state);
}
