import { InvalidArgumentError, isSameList } from '@ringrun/core';
import type { DistributedModule, DistributedTensor, ProcessGroup } from '@ringrun/core';
import { loadNative } from '@ringrun/native';
import { ddpEvents } from '../ddp/events.ts';
import type { Averages, FaultTolerance } from '../ddp/fault-tolerance.ts';
import { FlatParameters } from './flat-parameters.ts';
import { Fragment } from './fragment.ts';
import type { Islands } from './islands.ts';
import { hookOf, type LocalStepsSettings } from './options.ts';
import { OuterOptimizer } from './outer-optimizer.ts';
import { actionsAfter, fragmentRanges, type FragmentAction } from './schedule.ts';

/** The ranks that exchange, and their recovery. */
export interface ExchangeSetting {
  /** Of all ranks. */
  group: ProcessGroup;
  islands: Islands | undefined;
  faultTolerance: FaultTolerance | undefined;
}

/** The state that is equal on all ranks. */
export interface SharedState {
  steps: number;
  /** All parameters by name: those of the last outer step, and frozen ones. */
  parameters: Readonly<Record<string, DistributedTensor>>;
  momentum: Float32Array;
  /** The step after which each fragment was sent last. */
  sentAfter: readonly number[];
  /** Results of exchanges that have not been applied, by fragment. */
  underWay?: ReadonlyMap<number, Float32Array>;
}

/** The outer steps of a model: which parameters all ranks have in common, and the exchanges that change them. */
export class LocalSteps implements Averages {
  readonly #module: DistributedModule;
  readonly #settings: LocalStepsSettings;
  readonly #setting: ExchangeSetting;
  readonly #local: FlatParameters;
  readonly #outer: OuterOptimizer;
  readonly #fragments: readonly Fragment[];
  #steps = 0;
  /** A repeated exchange first restores the states of its transport. */
  readonly hasCommHook = true;
  readonly hookStates = undefined;

  /** A collective: the parameters are equal on all ranks. */
  constructor(module: DistributedModule, settings: LocalStepsSettings, setting: ExchangeSetting) {
    this.#module = module;
    this.#settings = settings;
    this.#setting = setting;
    const all = [...module.namedParameters()].map(([, parameter]) => parameter);
    this.#local = new FlatParameters(all.filter(({ requiresGrad }) => requiresGrad !== false));
    this.#outer = new OuterOptimizer(this.localParameters, settings);
    const isRepeatable = settings.faultTolerance === 'shrink';
    this.#fragments = fragmentRanges(this.#local.length, settings.fragments).map(
      (range) => new Fragment(range, hookOf(settings.transport), isRepeatable),
    );
    this.enterGroup(setting.group);
  }

  /** Number of steps, those of the warm-up included. */
  get steps(): number {
    return this.#steps;
  }

  /** Whether the next step averages gradients over all ranks. */
  get isWarmup(): boolean {
    return this.#steps < this.#settings.warmupSteps;
  }

  /** Whether the last step has ended a round of local steps. */
  get hasEndedRound(): boolean {
    const { innerSteps, warmupSteps } = this.#settings;
    return this.#steps > warmupSteps && (this.#steps - warmupSteps) % innerSteps === 0;
  }

  /** Counts a step, and runs the actions that follow it. */
  async step(): Promise<void> {
    this.#setting.faultTolerance?.requireAdmitted('step()');
    const step = this.#steps + 1;
    if (step === this.#settings.warmupSteps) this.#takeCommonParameters(step);
    for (const action of actionsAfter(step, this.#settings)) await this.#run(action);
    this.#steps = step;
    this.#setting.faultTolerance?.recordPositions();
  }

  /** Applies the exchanges under way, and exchanges every fragment with further steps. A collective. */
  async synchronize(): Promise<void> {
    if (this.isWarmup) return;
    for (const fragment of this.#fragments) {
      const isComplete = fragment.sentAfter === this.#steps;
      if (fragment.isUnderWay) await this.#receive(fragment, isComplete ? 0 : this.#settings.alpha);
      if (isComplete) continue;
      this.#send(fragment, this.#steps);
      await this.#receive(fragment, 0);
    }
  }

  /** Gives the model the parameters of the last outer step while `run` runs. */
  async withGlobalParameters<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.isWarmup) return await run();
    const own = this.localParameters;
    this.takeGlobalParameters();
    try {
      return await run();
    } finally {
      this.localParameters = own;
    }
  }

  leaveGroup(): void {
    for (const fragment of this.#fragments) fragment.leaveGroup();
  }

  enterGroup(group: ProcessGroup): void {
    const { islands } = this.#setting;
    for (const fragment of this.#fragments) fragment.enterGroup(islands ? islands.across : group);
  }

  /** Without the exchanges under way. */
  stateDict(): SharedState {
    if (this.isWarmup) this.#takeCommonParameters(this.#steps);
    const { parameters } = this.#outer;
    let begin = 0;
    const named = Array.from(this.#module.namedParameters(), ([name, { shape, data, requiresGrad }]) => {
      if (requiresGrad === false) return [name, { shape, data }] as const;
      const end = begin + data.length;
      const common = { shape, data: parameters.subarray(begin, end) };
      begin = end;
      return [name, common] as const;
    });
    const sentAfter = this.#fragments.map((fragment) => fragment.sentAfter);
    const { momentum } = this.#outer;
    return { steps: this.#steps, parameters: Object.fromEntries(named), momentum, sentAfter };
  }

  /** With the exchanges under way, which it awaits. */
  async completeStateDict(): Promise<SharedState> {
    const underWay = new Map<number, Float32Array>();
    // With fault tolerance, an exchange is complete only when all ranks know that it is.
    if (this.#setting.faultTolerance === undefined) {
      for (const [index, fragment] of this.#fragments.entries()) {
        if (!fragment.isUnderWay) continue;
        await fragment.end(this.#across);
        underWay.set(index, fragment.data.slice());
      }
    }
    return { ...this.stateDict(), underWay };
  }

  /** Leaves this rank's own parameters as they are. */
  loadStateDict(state: unknown): void {
    const { steps, parameters, momentum, sentAfter, underWay } = state as SharedState;
    const own = this.stateDict().parameters;
    const describe = (tensors: SharedState['parameters']) =>
      Object.entries(tensors).map(([name, { shape }]) => `${name} [${shape.join(', ')}]`);
    const [expected, got] = [describe(own), describe(parameters)];
    if (!isSameList(expected, got) || momentum.length !== this.#outer.momentum.length) {
      const at = expected.findIndex((one, place) => one !== got[place]);
      throw new InvalidArgumentError(
        `loadStateDict: expected the state of this model (${expected.at(at) ?? 'no parameter'}, momentum of ${this.#outer.momentum.length} numbers), got ${got.at(at) ?? 'no parameter'}, momentum of ${momentum.length} numbers. Build the same model, with the same outer optimizer.`,
      );
    }
    for (const [name, { data }] of Object.entries(own)) data.set(parameters[name].data);
    this.#outer.momentum.set(momentum);
    this.#steps = steps;
    // With other fragments than before, exchanges under way are lost, and the next ones have all differences.
    if (sentAfter.length !== this.#fragments.length) return;
    for (const [index, fragment] of this.#fragments.entries()) {
      fragment.sentAfter = sentAfter[index];
      const data = underWay?.get(index);
      if (data !== undefined) fragment.restore(data);
    }
  }

  /** The outer steps continue from the parameters that all ranks have after a step of the warm-up. */
  #takeCommonParameters(step: number): void {
    this.#outer.parameters.set(this.localParameters);
    for (const fragment of this.#fragments) fragment.sentAfter = step;
  }

  /** This rank's own parameters become those of the last outer step. */
  takeGlobalParameters(): void {
    this.localParameters = this.#outer.parameters;
  }

  /** This rank's own parameters. */
  get localParameters(): Float32Array {
    const own = new Float32Array(this.#local.length);
    this.#local.read({ begin: 0, end: own.length }, own);
    return own;
  }

  set localParameters(values: Float32Array) {
    this.#local.write({ begin: 0, end: values.length }, values);
  }

  /** What each transport of a fragment keeps on this rank. */
  get transportStates(): unknown[] {
    return this.#fragments.map(({ transportState }) => transportState?.stateDict());
  }

  async loadTransportStates(states: readonly unknown[]): Promise<void> {
    for (const [index, state] of states.entries())
      if (state !== undefined) await this.#fragments.at(index)?.transportState?.loadStateDict(state as never);
  }

  async #run({ kind, fragment }: FragmentAction): Promise<void> {
    if (kind === 'send') this.#send(this.#fragments[fragment], this.#steps + 1);
    else await this.#receive(this.#fragments[fragment], this.#settings.alpha);
  }

  #send(fragment: Fragment, step: number): void {
    this.#fill(fragment);
    fragment.sentAfter = step;
    const { faultTolerance } = this.#setting;
    if (faultTolerance === undefined || faultTolerance.mayStartEarly()) fragment.start(this.#across);
  }

  #fill(fragment: Fragment): void {
    const { range } = fragment;
    const { weight = 1 } = this.#setting.islands ?? {};
    fragment.fill((data) => {
      this.#local.read(range, data);
      this.#outer.differences(range, data);
      if (weight !== 1) loadNative().scaleArrays([data], weight);
    });
  }

  async #receive(fragment: Fragment, alpha: number): Promise<void> {
    const { islands, faultTolerance } = this.#setting;
    const since = performance.now();
    // In a process that has just joined.
    if (!fragment.isUnderWay) this.#fill(fragment);
    if (faultTolerance === undefined) await fragment.end(this.#across);
    else await faultTolerance.run(() => fragment.end(this.#across));
    if (islands !== undefined) await fragment.spread(islands);
    ddpEvents.emit('waited', 'gradients', since, performance.now(), this.#steps + 1);
    this.#outer.step(fragment.range, fragment.data);
    this.#mix(fragment, alpha);
    fragment.complete();
  }

  /** The rank continues with α of its own parameters and 1 − α of the common ones. */
  #mix({ range }: Fragment, alpha: number): void {
    let at = range.begin;
    for (const view of this.#local.views(range)) {
      const common = this.#outer.parameters.subarray(at, at + view.length);
      if (alpha === 0) view.set(common);
      else loadNative().mix(view, common, alpha);
      at += view.length;
    }
  }

  /** The ranks that exchange; null if this rank takes no part. */
  get #across(): ProcessGroup | null {
    const { group, islands, faultTolerance } = this.#setting;
    return islands ? islands.across : (faultTolerance?.group ?? group);
  }
}
