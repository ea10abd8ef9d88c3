import { arranged } from '../../calls/arrange.ts';
import type { Call } from '../../calls/call.ts';
import { formatWrapper, isSameList, type ForwardModule } from '@ringrun/core';
import { ArgumentError } from '../../errors/errors.ts';
import { changeBy } from '../../graph/changes.ts';
import { requireBoolean } from '../../checks/require-boolean.ts';
import { deepcopy } from '../../nn/deepcopy.ts';
import { Module } from '../../nn/module.ts';
import type { ModuleStateDict, StoredTensors } from '../../nn/state-dict.ts';
import { requireNothingPending } from '../../executor/operation-queue.ts';
import { asFloat32, store, type LoadableTensor } from '../../tensor/stored-tensor.ts';

/**
 * The weight of the new parameters in an average: average ← average + weight·(new − average).
 *
 * @param numAveraged number of models averaged so far, from 1
 */
export type AverageWeight = (numAveraged: number) => number;

/** Options of {@link AveragedModel}. */
export interface AveragedModelOptions {
  /** Weight of new parameters. Default: `getSwaAvgFn()`, the mean. */
  avgFn?: AverageWeight;
  /** If true, averages buffers too. If false, copies them from the model. Default: false. */
  useBuffers?: boolean;
  /**
   * If false, the averages are stored in the module itself: for a second instance of a class that {@link deepcopy} cannot copy. Default:
   * true.
   */
  copy?: boolean;
}

/** The mean of all parameters (stochastic weight averaging; torch.optim.swa_utils.get_swa_avg_fn). */
export function getSwaAvgFn(): AverageWeight {
  return (numAveraged) => 1 / (numAveraged + 1);
}

/**
 * An exponential moving average (torch.optim.swa_utils.get_ema_avg_fn).
 *
 * @param decay weight of the previous average, from 0 to 1. Default: 0.999.
 */
export function getEmaAvgFn(decay = 0.999): AverageWeight {
  if (!(decay >= 0 && decay <= 1)) {
    throw new ArgumentError(`getEmaAvgFn: decay must lie between 0 and 1, got ${decay}.`);
  }
  return () => 1 - decay;
}

/**
 * Averages the parameters of a model over training (torch.optim.swa_utils.AveragedModel), in a copy of the model.
 *
 * ```ts
 * const averaged = new optim.swaUtils.AveragedModel(model, { avgFn: optim.swaUtils.getEmaAvgFn(0.99) });
 * // After each step:
 * averaged.updateParameters(model);
 * ```
 *
 * As in torch, its state dict contains the averages under `module.`, and `n_averaged`.
 */
export class AveragedModel<M extends Module & ForwardModule> {
  /** The module with the averages. Its parameters are frozen. */
  readonly module: M;
  readonly #options: Required<Omit<AveragedModelOptions, 'copy'>>;
  #numAveraged = 0;

  /**
   * - `model`: the trained model, or another instance of its class
   *
   * @throws ArgumentError if it cannot be copied; see {@link deepcopy}
   */
  constructor(
    ...given: Call<[model: M, options?: AveragedModelOptions | undefined], 'optim.swaUtils.AveragedModel'>
  ) {
    const [module, options] = arranged('optim.swaUtils.AveragedModel', given);
    if (!(module instanceof Module)) {
      throw new ArgumentError(
        'AveragedModel: expected a Module for the averages. Of a DistributedDataParallel, pass its module: new AveragedModel(ddp.module).',
      );
    }

    const { avgFn = getSwaAvgFn(), useBuffers = false, copy = true } = options;
    requireBoolean('AveragedModel: copy', copy);
    this.#options = { avgFn, useBuffers };
    this.module = copy ? deepcopy(module) : module;
    this.module.requiresGrad(false);
    this.module.eval();
  }

  /** Number of models averaged so far. */
  get numAveraged(): number {
    return this.#numAveraged;
  }

  /** The wrapper and its module as torch prints them: see `toString` of `nn.Module`. `console.log` prints the same text. */
  toString(): string {
    return formatWrapper(this.constructor.name, this.module);
  }

  /** The text of `toString`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** Computes the output of the averaged model. */
  forward(...inputs: Parameters<M['forward']>): ReturnType<M['forward']> {
    return this.module.forward(...inputs) as ReturnType<M['forward']>;
  }

  /**
   * Adds the current parameters of a model to the averages; the first call copies them. Call it after the steps have been
   * awaited.
   *
   * @param model the trained model, or its DistributedDataParallel
   * @throws ArgumentError if names or shapes differ; NnError (ERR_NOT_AWAITED) if a step is pending; nothing is changed in this
   *   case
   */
  updateParameters(model: Pick<Module, 'namedParameters' | 'namedBuffers'>): void {
    const { avgFn, useBuffers } = this.#options;
    const parameters = paired(this.module.namedParameters(), model.namedParameters());
    const buffers = paired(this.module.namedBuffers(), model.namedBuffers());
    const all = [...parameters, ...buffers];
    requireNothingPending('updateParameters', all.flat());
    const weight = this.#numAveraged === 0 ? 1 : avgFn(this.#numAveraged);
    const change = changeBy('updateParameters()');
    for (const [average, { data }] of parameters) blend(average.data, data, weight);
    for (const [average, { data }] of buffers) blend(average.data, data, useBuffers ? weight : 1);
    for (const [average] of all) average.recordChange(change);
    this.#numAveraged += 1;
  }

  /** A copy of the averages and of their number. */
  stateDict(): ModuleStateDict {
    const state: ModuleStateDict = new Map([['n_averaged', store([], Float32Array.of(this.#numAveraged))]]);
    for (const [key, stored] of this.module.stateDict()) state.set(`module.${key}`, stored);
    return state;
  }

  /**
   * Loads a state dict from `stateDict` or from torch's AveragedModel.
   *
   * @throws ArgumentError if keys or shapes differ; nothing is changed in this case
   */
  loadStateDict(state: StoredTensors): void {
    const entries = new Map<string, LoadableTensor>(state instanceof Map ? state : Object.entries(state));
    const count = entries.get('n_averaged');
    if (count?.data.length !== 1) {
      throw new ArgumentError('AveragedModel.loadStateDict: expected the key n_averaged with one number.');
    }
    entries.delete('n_averaged');
    this.module.loadStateDict(entries, { keyMapping: { 'module.': '' } });
    [this.#numAveraged] = asFloat32(count.data);
  }
}

interface NamedTensor {
  readonly shape: readonly number[];
}

/** Tensors of both models, which must have the same names and shapes. */
function paired<T extends NamedTensor>(
  own: Iterable<[name: string, tensor: T]>,
  others: Iterable<[name: string, tensor: T]>,
): (readonly [own: T, other: T])[] {
  const [a, b] = [[...own], [...others]];
  const isSame = ([name, { shape }]: [string, T], [otherName, other]: [string, T]) =>
    name === otherName && isSameList(shape, other.shape);
  if (isSameList(a, b, isSame)) return a.map(([, tensor], i) => [tensor, b[i][1]] as const);
  const describe = (entry: [string, T] | undefined) =>
    entry === undefined ? 'none' : `${entry[0]} [${entry[1].shape.join()}]`;
  let odd = 0;
  while (describe(a.at(odd)) === describe(b.at(odd))) odd += 1;
  throw new ArgumentError(
    `updateParameters: expected a model with ${describe(a.at(odd))}, got ${describe(b.at(odd))}. Pass an instance of the same class.`,
  );
}

/** average ← average + weight·(added − average), elementwise. */
function blend(average: Float32Array, added: Float32Array, weight: number): void {
  if (weight === 1) {
    average.set(added);
    return;
  }
  for (let i = 0; i < average.length; i += 1) average[i] += (added[i] - average[i]) * weight;
}
