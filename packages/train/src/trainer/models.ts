import { InvalidArgumentError } from '@ringrun/core';
import { nn } from '@ringrun/nn';
import { DiLoCo, DistributedDataParallel, type ProcessGroup, type Stateful } from 'ringrun';
import { currentGroup } from '../metrics/state.ts';
import type { TrainableModule } from '../trainable-module.ts';
import type { AnyWrapped, Models, Wrapped, Wrapper } from './fit-options.ts';
import type { TrainerOptions } from './trainer-options.ts';

interface KnownWrapper {
  readonly wrapper: Wrapper;
  readonly group: ProcessGroup;
  /** The parameters that were trained when the module was wrapped: the wrapper averages only their gradients. */
  readonly trained: ReadonlySet<object>;
}

/** The last wrapper of each module, so that a second `fit` does not wrap it again, and an evaluation knows it. */
const wrappers = new WeakMap<TrainableModule, KnownWrapper>();

type Recovering = 'faultTolerance' | 'minRanks' | 'onMembershipChange';

/** The models of a training: one under the name `model`, or several by their names. */
export class WrappedModels {
  /** Without DistributedDataParallel. */
  readonly modules: Readonly<Record<string, TrainableModule>>;
  readonly #wrapped: Readonly<Record<string, AnyWrapped>>;
  readonly #isOne: boolean;
  readonly #group: ProcessGroup | undefined;
  /** The wrapper of a training that continues when ranks die. */
  readonly #recovering: DistributedDataParallel<TrainableModule> | undefined;

  /**
   * @param group the modules are wrapped for it, if there is one
   * @param options of the wrappers, `ddp` or `diloco`, and of recovery; undefined: wrap no module that is not wrapped already
   * @throws InvalidArgumentError if there is no module
   */
  constructor(
    models: Models | { readonly module: Models },
    group: ProcessGroup | undefined,
    options: Pick<TrainerOptions, 'ddp' | 'diloco' | Recovering> | undefined,
  ) {
    this.#isOne = models instanceof nn.Module || isWrapper(models);
    const named = (this.#isOne ? { model: models } : models) as Readonly<Record<string, AnyWrapped>>;
    const entries = Object.entries(named);
    if (entries.length === 0 || !entries.every(([, one]) => isModel(one))) {
      throw new InvalidArgumentError(
        'Trainer: expected a module with forward, or an object of such modules, got something else.',
      );
    }
    const wrap = (one: AnyWrapped) => {
      if (isWrapper(one) || group === undefined) return one;
      const known = wrappers.get(one);
      const isKnown = known?.group === group;
      if (options === undefined) return isKnown ? known.wrapper : one;
      const trained = new Set<object>([...one.parameters()].filter(({ requiresGrad }) => requiresGrad));
      // A layer that was unfrozen since then needs another wrapper.
      if (isKnown && [...trained].every((parameter) => known.trained.has(parameter))) return known.wrapper;
      const wrapper = wrapperOf(one, group, options);
      wrappers.set(one, { wrapper, group, trained });
      return wrapper;
    };
    this.#wrapped = Object.fromEntries(entries.map(([name, one]) => [name, wrap(one)]));
    this.#group = group;
    const { model } = this.#wrapped;
    if (options?.faultTolerance === 'shrink' && model instanceof DistributedDataParallel)
      this.#recovering = model;
    const unwrapped = ([name, one]: [string, AnyWrapped]) => [name, moduleOf(one)] as const;
    this.modules = Object.fromEntries(entries.map(unwrapped));
  }

  /** The ranks that train together; with recovery, those that are left. */
  get group(): ProcessGroup | undefined {
    return this.#recovering === undefined ? this.#group : currentGroup();
  }

  /** Runs collectives, with recovery again in the next group after a rank has died. `run` must not change its inputs. */
  async retry<Result>(run: (group: ProcessGroup | undefined) => Promise<Result>): Promise<Result> {
    return await (this.#recovering === undefined ? run(this.#group) : this.#recovering.retry(run));
  }

  /** Whether the training continues when ranks die. */
  get isRecovering(): boolean {
    return this.#recovering !== undefined;
  }

  /** Registers what a process that joins receives. Resolves with true if this process has joined a running training. */
  async shareState(objects: Readonly<Record<string, unknown>>): Promise<boolean> {
    return (await this.#recovering?.shareState(objects)) ?? false;
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

  /** What each rank has for itself, by the names of `registered`, if ranks exchange parameters only now and then. */
  get ofRanks(): Readonly<Record<string, Stateful>> {
    const local = Object.entries(this.registered).filter((entry) => entry[1] instanceof DiLoCo);
    return Object.fromEntries(
      local.map(([name, one]) => [`${name}_rank`, (one as DiLoCo<TrainableModule>).rankState]),
    );
  }

  /** Gives all ranks the running statistics of rank 0. A collective. */
  syncBuffers(): void {
    for (const one of this.#wrappers) if (one instanceof DistributedDataParallel) one.syncBuffers();
  }

  /** Runs a backward pass whose gradients are not averaged. */
  async noSync<Result>(run: () => Promise<Result>): Promise<Result> {
    return await this.#wrappers.reduce((inner, one) => () => one.noSync(inner), run)();
  }

  /** After a step of the optimizers. A collective now and then, with `diloco`. */
  async step(): Promise<void> {
    for (const one of this.#local) await one.step();
  }

  /** Makes the parameters equal on all ranks. A collective, with `diloco`. */
  async synchronize(): Promise<void> {
    for (const one of this.#local) await one.synchronize();
  }

  /** Runs an evaluation with parameters that are equal on all ranks. */
  async withGlobalParameters<Result>(run: () => Promise<Result>): Promise<Result> {
    return await this.#local.reduce((inner, one) => () => one.withGlobalParameters(inner), run)();
  }

  get #wrappers(): Wrapper[] {
    return Object.values(this.#wrapped).filter(isWrapper);
  }

  get #local(): DiLoCo<TrainableModule>[] {
    return this.#wrappers.filter((one) => one instanceof DiLoCo);
  }
}

function wrapperOf(
  module: TrainableModule,
  group: ProcessGroup,
  {
    ddp,
    diloco,
    faultTolerance,
    minRanks,
    onMembershipChange,
  }: Pick<TrainerOptions, 'ddp' | 'diloco' | Recovering>,
): Wrapper {
  if (diloco) return new DiLoCo(module, { ...diloco, processGroup: group });
  const recovery = {
    ...(faultTolerance && { faultTolerance }),
    ...(minRanks !== undefined && { minRanks }),
    ...(onMembershipChange && { onMembershipChange }),
  };
  return new DistributedDataParallel(module, { ...ddp, ...recovery, processGroup: group });
}

function isModel(value: unknown): boolean {
  return value instanceof nn.Module || isWrapper(value);
}

function moduleOf(one: AnyWrapped): TrainableModule {
  return isWrapper(one) ? one.module : one;
}

/** Whether a module is wrapped already. */
export function isWrapper(value: unknown): value is Wrapper {
  return value instanceof DistributedDataParallel || value instanceof DiLoCo;
}
