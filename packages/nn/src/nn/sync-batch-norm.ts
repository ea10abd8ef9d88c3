import type { ProcessGroup } from 'ringrun';
import { defaultGroup } from '../default-group.ts';
import { ArgumentError } from '../errors.ts';
import type { CollectiveGroup } from '../graph/operators.ts';
import { BatchNorm, batchNormOptions, type BatchNormModuleOptions } from './batch-norm.ts';
import { Module } from './module.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

export interface SyncBatchNormOptions extends BatchNormModuleOptions {
  /** Ranks whose batches are normalized as one, this one among them; the default group at the time of each forward call unless given. */
  processGroup?: ProcessGroup;
}

const optionNames: OptionNames<SyncBatchNormOptions> = { ...batchNormOptions, processGroup: true };

/** What `convertSyncBatchNorm` makes of a module: another one of a batch normalization, else the same, with its parts converted. */
export type Synchronized<M extends Module> = M extends BatchNorm ? SyncBatchNorm : M;

/**
 * Batch normalization of [N, C] or [N, C, …] over the batches of all ranks of a group (torch.nn.SyncBatchNorm): mean and variance in training, and so the running
 * statistics, are those of all samples together, and gradients flow back through them to all ranks. Batches may differ in size, and be empty on some ranks. In evaluation, outside of an
 * initialised group and in a world of one it is plain batch normalization.
 *
 * In training every forward call is an operation of the group, when its graph runs: one message of 2·C + 1 numbers from each rank to all, and an all-reduce of
 * 2·C numbers in the backward pass. So all ranks make the same forward calls, in the same order, and ask for values that depend on them (`backward`, `item`, `array`)
 * together; `item` of a loss after its `backward` is at hand, and for each rank alone. Ranks that do not are told as by any collective: CollectiveMismatchError,
 * PeerDiedError, CollectiveTimeoutError. A gradient is that of the sum of all ranks' losses; weight and bias have the gradient of this rank's own loss, to be averaged as others are, by
 * DistributedDataParallel, whose `join` refuses such a model.
 *
 * @throws ShapeError, on every rank and when the graph runs, where all ranks together have less than 2 values per channel
 */
export class SyncBatchNorm extends BatchNorm {
  readonly #processGroup: ProcessGroup | undefined;

  constructor(numFeatures: number, options: SyncBatchNormOptions = {}) {
    requireOptions('SyncBatchNorm', options, optionNames);
    const { processGroup, ...others } = options;
    super(numFeatures, others);
    this.#processGroup = checkedGroup(processGroup);
  }

  /**
   * Replaces each batch normalization of a model by one that is synchronised, with the same parameters, buffers and settings (torch's convert_sync_batchnorm). Optimizers and
   * DistributedDataParallel may be made before or after: the Parameters stay.
   *
   * @param module a model, which is changed; or a batch normalization, which is not
   * @param processGroup as of the constructor
   * @returns the model; or what replaces the batch normalization
   */
  static convertSyncBatchNorm<M extends Module>(module: M, processGroup?: ProcessGroup): Synchronized<M> {
    checkedGroup(processGroup);
    const options = processGroup === undefined ? {} : { processGroup };
    return converted(module, options, new Map()) as Synchronized<M>;
  }

  override get isCollective(): boolean {
    return true;
  }

  protected override get inputs() {
    return { takes: (dims: number) => dims >= 2, written: '[N,C] or [N,C,…]' };
  }

  protected override group(): CollectiveGroup | undefined {
    const group = this.#processGroup ?? defaultGroup();
    return group !== undefined && group.size > 1 ? group : undefined;
  }
}

/** JavaScript callers may hand on what newGroup gave. */
function checkedGroup(group: ProcessGroup | null | undefined): ProcessGroup | undefined {
  if (group !== null) return group;
  throw new ArgumentError(
    'SyncBatchNorm: processGroup is null: this rank is not in the group, and newGroup said so. Give each rank the group that it is in.',
  );
}

/** @param made what has become of each module so far: one that a model has in two places stays one */
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
    if (replacement !== child) Object.assign(module, { [name]: replacement });
  }
  return module;
}

function synchronized(norm: BatchNorm, options: SyncBatchNormOptions): SyncBatchNorm {
  const { numFeatures, ...settings } = norm.settings;
  const { weight, bias, runningMean, runningVar, numBatchesTracked, training } = norm;
  const state = { weight, bias, runningMean, runningVar, numBatchesTracked, training };
  return Object.assign(new SyncBatchNorm(numFeatures, { ...settings, ...options }), state);
}
