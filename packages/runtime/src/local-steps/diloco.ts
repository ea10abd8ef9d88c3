import {
  allowUnaveragedGradients,
  formatWrapper,
  InvalidArgumentError,
  invalidateRecordedCalls,
} from '@ringrun/core';
import type { DistributedTensor, ForwardModule, ProcessGroup, Stateful } from '@ringrun/core';
import { broadcastBuffersSync, BufferBroadcasts, bytesOf, hasBuffers } from '../ddp/buffers.ts';
import type { ParameterOf } from '../ddp/distributed-data-parallel.ts';
import { FaultTolerance } from '../ddp/fault-tolerance.ts';
import { requireSameModel } from '../ddp/model-agreement.ts';
import { defaultGroup } from '../process-group/index.ts';
import { GradientAverages } from './gradient-averages.ts';
import { LocalSteps } from './local-steps.ts';
import { checkedLocalSteps, type DiLoCoOptions } from './options.ts';

/**
 * Trains a model on ranks that exchange their parameters only now and then, for links that are slow (DiLoCo, Douillard et al. 2023;
 * torchft: DiLoCo). Each rank takes `innerSteps` steps of its own optimizer on its own data. Then the differences between the parameters
 * before and after them are averaged over the ranks, and an outer optimizer applies the average. With `fragments` and `overlapSteps`, parts
 * of the parameters are exchanged in turn while the ranks compute (Streaming DiLoCo, Douillard et al. 2025). With `warmupSteps`, the first
 * steps average gradients over all ranks, as DistributedDataParallel does; `loss.backward()` is a collective then.
 *
 * ```ts
 * const model = new DiLoCo(new Net(), { innerSteps: 100, outer: { lr: 0.7, momentum: 0.9 } });
 * const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
 * for await (const [input, target] of loader) {
 *   optimizer.zeroGrad();
 *   await F.crossEntropy(model.forward(input), target).backward();
 *   await optimizer.step();
 *   await model.step();
 * }
 * await model.synchronize();
 * ```
 *
 * The constructor is a collective: it throws if the models differ between ranks, and broadcasts the parameters and buffers of rank 0.
 * The parameters of the outer steps are bit-identical on all ranks; each rank's own differ between two exchanges. All ranks must take the
 * same number of steps.
 *
 * A checkpoint has the outer state with `checkpointer.register({ model })`, and what each rank has for itself with
 * `checkpointer.register({ inner: model.rankState, optimizer }, { perRank: true })`. With both, a resumed training is bit-identical.
 */
export class DiLoCo<M extends ForwardModule> {
  /** The wrapped model, with this rank's own parameters. */
  readonly module: M;
  /** The parameters and buffers of this rank, and the error feedback of its transport, for a checkpoint. */
  readonly rankState: Stateful;
  readonly #group: ProcessGroup;
  readonly #local: LocalSteps;
  readonly #faultTolerance: FaultTolerance | undefined;
  readonly #buffers: BufferBroadcasts | undefined;
  readonly #gradients: GradientAverages<M>;

  /**
   * @throws InvalidArgumentError for an option out of range or a model without trained parameters; ModelMismatchError, on every rank, if
   * models or options differ
   */
  constructor(module: M, options: DiLoCoOptions = {}) {
    const who = new.target.name;
    const settings = checkedLocalSteps(who, options);
    const { islands, processGroup: group = defaultGroup() } = options;
    requireSameModel(group, module, settings, who);
    const all = [...module.namedParameters()].map(([, parameter]) => parameter);
    if (all.every(({ requiresGrad }) => requiresGrad === false)) {
      throw new InvalidArgumentError(
        `${who}: expected a model with at least one parameter that is trained, got none. Wrap a model that can be trained.`,
      );
    }
    this.module = module;
    this.#group = group;
    if (settings.faultTolerance === 'shrink')
      this.#faultTolerance = new FaultTolerance(module, settings, options, who);
    for (const { data } of all) group.broadcastSync(data, { src: 0 });
    broadcastBuffersSync(group, module);
    const { broadcastBuffers, warmupSteps } = settings;
    const faultTolerance = this.#faultTolerance;
    this.#gradients = new GradientAverages(module, {
      all: warmupSteps > 0 ? group : undefined,
      island: islands?.island ?? undefined,
      broadcastBuffers,
      faultTolerance,
    });
    this.#local = new LocalSteps(module, settings, { group, islands, faultTolerance });
    if (faultTolerance) faultTolerance.repeats(this.#local);
    else if (broadcastBuffers && hasBuffers(module)) this.#buffers = new BufferBroadcasts(group, module);
    this.rankState = {
      stateDict: () => this.#rankStateDict(),
      loadStateDict: (state) => this.#loadRankStateDict(state),
    };
    allowUnaveragedGradients();
    invalidateRecordedCalls();
  }

  /** The wrapper and its module as torch prints them. `console.log` prints the same text. */
  toString(): string {
    return formatWrapper(this.constructor.name, this.module);
  }

  /** The text of `toString`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /**
   * Runs the wrapped model's forward with this rank's own parameters; in the warm-up and inside an island, as DistributedDataParallel
   * does.
   */
  forward(...inputs: Parameters<M['forward']>): ReturnType<M['forward']> {
    const { wrapper = this.module } = this.#gradients;
    return wrapper.forward(...inputs) as ReturnType<M['forward']>;
  }

  /**
   * To be awaited after each step of the optimizer. A collective after every `innerSteps` steps, or as the fragments take their turns: all
   * ranks take the same steps. With `broadcastBuffers`, the buffers of rank 0 are broadcast after each round.
   *
   * @throws PeerDiedError if a rank has died, without `faultTolerance: 'shrink'`; the other errors of collectives
   */
  async step(): Promise<void> {
    await this.#local.step();
    this.#enterPhase();
    if (this.#local.hasEndedRound) await this.#buffers?.run();
  }

  /**
   * Applies the exchanges under way, and exchanges all parameters once more. A collective. Afterwards the parameters are bit-identical on
   * all ranks. Call it at the end of training, before the model is saved.
   */
  async synchronize(): Promise<void> {
    await this.#local.synchronize();
    await this.#buffers?.run();
  }

  /**
   * Runs an evaluation with the parameters of the last outer step, which are the same on all ranks. This rank's own return when `run` has
   * ended.
   *
   * @returns the result of `run`
   */
  async withGlobalParameters<Result>(run: () => Promise<Result>): Promise<Result> {
    return await this.#local.withGlobalParameters(run);
  }

  /** Number of steps since the start of the training. */
  get steps(): number {
    return this.#local.steps;
  }

  /** As `DistributedDataParallel.noSync` in the warm-up and inside an island. Otherwise it only calls `run`. */
  async noSync<Result>(run: () => Promise<Result>): Promise<Result> {
    const { wrapper } = this.#gradients;
    return await (wrapper === undefined ? run() : wrapper.noSync(run));
  }

  /** With `faultTolerance: 'shrink'`, see `DistributedDataParallel.shareState`. A process joins between two local steps of the others. */
  async shareState(objects: Readonly<Record<string, unknown>> = {}): Promise<boolean> {
    const hasJoined = await this.#faultTolerance?.shareState(objects);
    this.#enterPhase();
    return hasJoined ?? false;
  }

  /** Runs collectives of the program again after a rank has died: see `DistributedDataParallel.retry`. */
  async retry<Result>(run: (group: ProcessGroup) => Promise<Result>): Promise<Result> {
    return this.#faultTolerance === undefined
      ? await run(this.#group)
      : await this.#faultTolerance.retry(run);
  }

  /** With `faultTolerance: 'shrink'`: RANK, as started, of the ranks of the last exchange. */
  get stepRanks(): readonly number[] {
    return this.#faultTolerance?.stepRanks ?? [];
  }

  /**
   * The state that is equal on all ranks: the parameters of the last outer step by name, the outer momentum, the number of local steps and
   * the results of exchanges that have not been applied. Awaits exchanges under way.
   */
  async stateDict(): Promise<Record<string, unknown>> {
    return { ...(await this.#local.completeStateDict()), buffers: this.#namedBuffers() };
  }

  /**
   * Loads a state. This rank continues with the parameters of the last outer step, until `rankState` is loaded.
   *
   * @throws InvalidArgumentError if the state is one of another model
   */
  loadStateDict(state: Record<string, unknown>): void {
    this.#local.loadStateDict(state);
    this.#enterPhase();
    this.#local.takeGlobalParameters();
    this.#loadBuffers(state['buffers'] as Record<string, DistributedTensor>);
  }

  /** Whether the model is in training mode (torch.nn.Module.training). */
  get training(): boolean {
    return this.module.training !== false;
  }

  /** Switches to training mode, or to evaluation mode if `mode` is false (torch.nn.Module.train). Returns this wrapper. */
  train(mode = true): this {
    this.module.train?.(mode);
    return this;
  }

  /** `train(false)` (torch.nn.Module.eval). Returns this wrapper. */
  eval(): this {
    return this.train(false);
  }

  /** The parameters of the model in order of definition, for the inner optimizer (torch.nn.Module.parameters). */
  parameters(): ParameterOf<M>[] {
    return Array.from(this.module.namedParameters(), ([, parameter]) => parameter as ParameterOf<M>);
  }

  /** The parameters with their names, in order of definition (torch.nn.Module.named_parameters). */
  namedParameters(): ReturnType<M['namedParameters']> {
    return this.module.namedParameters() as ReturnType<M['namedParameters']>;
  }

  /** Begins the warm-up, or the local steps. */
  #enterPhase(): void {
    this.#gradients.isWarmup = this.#local.isWarmup;
  }

  async #rankStateDict(): Promise<RankState> {
    // The error feedback changes when an exchange ends.
    await this.#local.completeStateDict();
    return {
      parameters: this.#local.localParameters,
      transport: this.#local.transportStates,
      buffers: this.#namedBuffers(),
    };
  }

  async #loadRankStateDict({ parameters, transport, buffers }: RankState): Promise<void> {
    this.#local.localParameters = parameters;
    await this.#local.loadTransportStates(transport);
    this.#loadBuffers(buffers);
  }

  #namedBuffers(): Record<string, unknown> {
    return Object.fromEntries(
      Array.from(this.module.namedBuffers(), ([name, { shape, data }]) => [name, { shape, data }]),
    );
  }

  #loadBuffers(loaded: Readonly<Record<string, unknown>>): void {
    for (const [name, buffer] of this.module.namedBuffers())
      bytesOf(buffer).set(bytesOf(loaded[name] as DistributedTensor));
  }
}

interface RankState {
  parameters: Float32Array;
  transport: readonly unknown[];
  buffers: Readonly<Record<string, unknown>>;
}
