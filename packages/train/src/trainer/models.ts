import { InvalidArgumentError } from '@ringrun/core';
import { nn } from '@ringrun/nn';
import { DistributedDataParallel, type ProcessGroup } from 'ringrun';
import type { TrainableModule } from '../trainable-module.ts';
import type { AnyWrapped, Models, Wrapped } from './fit-options.ts';
import type { TrainerOptions } from './trainer-options.ts';

interface KnownWrapper {
  readonly wrapper: DistributedDataParallel<TrainableModule>;
  readonly group: ProcessGroup;
  /** The parameters that were trained when the module was wrapped: the wrapper averages only their gradients. */
  readonly trained: ReadonlySet<object>;
}

/** The last wrapper of each module, so that a second `fit` does not wrap it again, and an evaluation knows it. */
const wrappers = new WeakMap<TrainableModule, KnownWrapper>();

/** The models of a training: one under the name `model`, or several by their names. */
export class WrappedModels {
  /** Without DistributedDataParallel. */
  readonly modules: Readonly<Record<string, TrainableModule>>;
  readonly #wrapped: Readonly<Record<string, AnyWrapped>>;
  readonly #isOne: boolean;

  /**
   * @param group the modules are wrapped for it, if there is one
   * @param options of the wrappers; undefined: wrap no module that is not wrapped already
   * @throws InvalidArgumentError if there is no module
   */
  constructor(
    models: Models | { readonly module: Models },
    group: ProcessGroup | undefined,
    options: TrainerOptions['ddp'] | undefined,
  ) {
    this.#isOne = models instanceof nn.Module || models instanceof DistributedDataParallel;
    const named = (this.#isOne ? { model: models } : models) as Readonly<Record<string, AnyWrapped>>;
    const entries = Object.entries(named);
    if (entries.length === 0 || !entries.every(([, one]) => isModel(one))) {
      throw new InvalidArgumentError(
        'Trainer: expected a module with forward, or an object of such modules, got something else.',
      );
    }
    const wrap = (one: AnyWrapped) => {
      if (one instanceof DistributedDataParallel || group === undefined) return one;
      const known = wrappers.get(one);
      const isKnown = known?.group === group;
      if (options === undefined) return isKnown ? known.wrapper : one;
      const trained = new Set<object>([...one.parameters()].filter(({ requiresGrad }) => requiresGrad));
      // A layer that was unfrozen since then needs another wrapper.
      if (isKnown && [...trained].every((parameter) => known.trained.has(parameter))) return known.wrapper;
      const wrapper = new DistributedDataParallel(one, { ...options, processGroup: group });
      wrappers.set(one, { wrapper, group, trained });
      return wrapper;
    };
    this.#wrapped = Object.fromEntries(entries.map(([name, one]) => [name, wrap(one)]));
    const unwrapped = ([name, one]: [string, AnyWrapped]) => [name, moduleOf(one)] as const;
    this.modules = Object.fromEntries(entries.map(unwrapped));
  }

  /** What steps call, in training. */
  get wrapped(): Wrapped<Models> {
    return this.#isOne ? this.#wrapped['model'] : this.#wrapped;
  }

  /** What an evaluation calls. */
  get bare(): Wrapped<Models> {
    return this.#isOne ? this.modules['model'] : this.modules;
  }

  /** The one model; undefined if there are several. */
  get only(): AnyWrapped | undefined {
    return this.#isOne ? this.#wrapped['model'] : undefined;
  }

  /** Names of models in a checkpoint, and the models. */
  get registered(): Readonly<Record<string, AnyWrapped>> {
    if (this.#isOne) return this.#wrapped;
    return Object.fromEntries(Object.entries(this.#wrapped).map(([name, one]) => [`model_${name}`, one]));
  }

  /** Switches to training mode. */
  train(): void {
    for (const module of Object.values(this.modules)) module.train();
  }

  /** Switches to evaluation mode. Returns a function that restores the modes. */
  evaluating(): () => void {
    const modes = Object.values(this.modules).map((module) => [module, module.training] as const);
    for (const [module] of modes) module.eval();
    return () => {
      for (const [module, mode] of modes) module.train(mode);
    };
  }

  /** Gives all ranks the running statistics of rank 0. A collective. */
  syncBuffers(): void {
    for (const one of Object.values(this.#wrapped))
      if (one instanceof DistributedDataParallel) one.syncBuffers();
  }

  /** Runs a backward pass whose gradients are not averaged. */
  async noSync<Result>(run: () => Promise<Result>): Promise<Result> {
    const all = Object.values(this.#wrapped).filter((one) => one instanceof DistributedDataParallel);
    return await all.reduce((inner, one) => () => one.noSync(inner), run)();
  }
}

function isModel(value: unknown): boolean {
  return value instanceof nn.Module || value instanceof DistributedDataParallel;
}

function moduleOf(one: AnyWrapped): TrainableModule {
  return one instanceof DistributedDataParallel ? one.module : one;
}
