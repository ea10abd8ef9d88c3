import { ArgumentError, NnError } from '../errors/errors.ts';
import { changeBy, type Change } from '../graph/changes.ts';
import { isSameSequence } from '../graph/same-data.ts';
import type { PartOfStep, PreparedStep } from '../engine/prepared-step.ts';
import type { GradientReceiver, Source } from '../graph/source.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { hasUnlisted, requireNoUnlistedParameters } from '../engine/unlisted-parameters.ts';
import { enqueue, enqueueChange, requireNothingPending } from '../executor/operation-queue.ts';
import { definedNames } from './fused-update.ts';
import { clippingOf, type Clipping, type ClippingOptions } from './clipping.ts';
import { takeOwnership, releaseOwnership, requireUnowned } from './parameter-ownership.ts';
import {
  asGroups,
  completeGroup,
  noParameters,
  requireInOneGroup,
  type OptimizerParameters,
  type ParamGroup,
  type ParamGroupOptions,
} from './param-groups.ts';
import { ParameterStates } from './parameter-states.ts';
import type { Coefficients, Rule } from './rule.ts';
import { checkStateDict, type OptimizerStateDict } from './state-dict.ts';
import { sharingsOf, Updates, type RequestedSet, type Update } from './updates.ts';

/** Settings of every optimizer. */
export interface CommonSettings {
  /** Learning rate. */
  lr: number;
}

/**
 * Base class of all optimizers: updates parameters by their gradients (torch.optim.Optimizer).
 *
 * A subclass defines its update rule as a graph over one parameter. The updates of all parameters are compiled into one
 * in-place program that reads the settings as inputs: changing a number costs nothing; changing the computation, such as setting
 * momentum from 0 to 0.9, recompiles it.
 */
export abstract class Optimizer<Settings extends CommonSettings = CommonSettings> {
  /** The parameter groups. Settings may be changed between steps: `optimizer.paramGroups[0].lr = 0.01`. */
  readonly paramGroups: readonly ParamGroup<Settings>[];
  /** Default settings of the groups. */
  readonly defaults: Readonly<Settings>;
  readonly #groups: ParamGroup<Settings>[] = [];
  readonly #rule: Rule<Settings>;
  readonly #states = new ParameterStates();
  readonly #updates: Updates;
  #released = false;
  #gradNorm: number | undefined;

  /**
   * @param defaults a value for every setting, for groups without their own
   * @internal
   */
  constructor(rule: Rule<Settings>, parameters: OptimizerParameters<Settings>, defaults: Settings) {
    this.#rule = rule;
    this.#updates = new Updates(rule, this.#states);
    this.defaults = structuredClone(defaults);
    this.paramGroups = this.#groups;
    this.#addGroups(asGroups(rule.name, parameters));
  }

  /**
   * Adds a group (torch.optim.Optimizer.add_param_group), such as layers that are unfrozen.
   *
   * @throws ArgumentError if another group or optimizer has one of the parameters; nothing is added in this case
   */
  addParamGroup(group: ParamGroupOptions<Settings>): void {
    this.#requireNotReleased();
    this.#addGroups([group]);
  }

  /** Resets the gradients of all parameters. */
  zeroGrad(): void {
    enqueueChange('zeroGrad', () => {
      this.zeroGradNow();
    });
  }

  /** @internal */
  zeroGradNow(): void {
    for (const parameter of this.#states.parameters()) parameter.clearGradient();
  }

  /**
   * Resets the gradients of the parameters that the ranks of a host share: after a compiled step, no rank has their average.
   *
   * @internal
   */
  zeroSharedGradNow(): void {
    for (const parameter of this.#states.parameters()) {
      if (parameter.gradientSink?.sharing) parameter.clearGradient();
    }
  }

  /**
   * The norm of all gradients before clipping, in float32, in the last completed step with `clipGradNorm`; undefined
   * before the first one.
   */
  get gradNorm(): number | undefined {
    return this.#gradNorm;
  }

  /**
   * Updates every parameter that has a gradient and is not frozen, in place, with the settings at the time of the call. Runs in call order
   * relative to backward passes, other steps and reads, even if it is not awaited.
   *
   * With `clipGradNorm` or `clipGradValue`, it clips the gradients in the program that updates the parameters.
   *
   * With DistributedDataParallel's `shareParameters` it is a collective: await it on every rank.
   *
   * @throws ArgumentError if the backward pass reached a parameter that no module lists and no optimizer has, as in a
   *   layer in a #private field, or for invalid options; NnError (ERR_BACKWARD) if no parameter has a gradient;
   *   (ERR_NOT_AWAITED) if an earlier operation that was not awaited failed; (ERR_NONFINITE) with `errorIfNonfinite`,
   *   without changing a parameter
   */
  async step(options: ClippingOptions = {}): Promise<void> {
    const { memory, run } = this.prepareStep(clippingOf('step', options));
    await enqueue({ name: 'optimizer.step()', changes: true, memory }, () => run(false));
  }

  /**
   * `identity` of the memory of all parameters.
   *
   * @internal
   */
  memory(): ReadonlySet<object> {
    return new Set(Array.from(this.#states.parameters(), ({ memory }) => memory.identity));
  }

  /**
   * A step with the current settings that runs later, by itself or as part of a training step.
   *
   * @internal
   */
  prepareStep(clipping?: Clipping): PreparedStep {
    this.#requireNotReleased();
    for (const group of this.#groups) this.#rule.check(group);
    const groups = this.#groups.map(copyOfGroup);
    const change = changeBy('optimizer.step()');
    return {
      memory: () => new Set(groups.flatMap(({ params }) => params.map(({ memory }) => memory.identity))),
      parameters: () => new Set(groups.flatMap(({ params }) => params)),
      run: (averages) => this.#stepNow({ groups, change, clipping, averages }),
      asPartOf: (reached, averages) => this.#asPartOf(reached, { groups, change, clipping, averages }),
    };
  }

  async #stepNow({ groups, change, clipping, averages }: RequestedStep<Settings>): Promise<void> {
    const sets = groups.flatMap((group, index) => this.#setsOf(group, index, hasGradient));
    if (sets.length === 0) {
      throw new NnError(
        'ERR_BACKWARD',
        'step: no parameter has a gradient. Call await loss.backward() first.',
      );
    }
    const update = this.#updates.of(sets, clipping, averages);
    const { parameters, graph } = update;
    requireNoUnlistedParameters(parameters);
    graph.setNumbers({ coefficients: sets.map(({ coefficients }) => coefficients), clipping });
    for (const parameter of parameters) parameter.recordChange(change);
    try {
      await graph.run();
    } catch (error) {
      throw graph.clip?.failure ?? error;
    }
    this.#endUpdate(update);
  }

  /** Resolves when other ranks have written their parts of the parameters too. */
  #endUpdate({ graph: { clip }, shared, states }: Update, runs = 1): void {
    for (const { memory } of shared) memory.toHost();
    for (const state of states) state.count(runs);
    this.#gradNorm = clip?.norm ?? this.#gradNorm;
  }

  /** Undefined if other ranks may have gradients of parameters that this rank's loss does not reach, or after an error. */
  #asPartOf(
    reached: readonly GradientReceiver[],
    { groups, change, clipping, averages }: RequestedStep<Settings>,
  ): PartOfStep | undefined {
    const known = new Set(reached);
    const all = groups.flatMap(({ params }) => params);
    const isReached = (parameter: Parameter) => known.has(parameter);
    if (hasUnlisted(reached)) return undefined;
    if (all.some((parameter) => parameter.gradientSink && !isReached(parameter))) return undefined;
    // If the update fails, gradients and running statistics already have their new values on all ranks.
    if (clipping?.kind === 'norm' && clipping.errorIfNonfinite) return undefined;
    if (all.some(({ gradientSink }) => gradientSink?.mayRepeat === true)) return undefined;
    // Other ranks may allocate the memory of states after the average.
    if (
      sharingsOf(all).length > 0 &&
      groups.some((group) => !this.#states.haveAll(group.params, this.#rule.stateNames(group)))
    )
      return undefined;
    const sets = groups.flatMap((group, index) => this.#setsOf(group, index, isReached));
    if (sets.length === 0) return undefined;
    const update = this.#updates.of(sets, clipping, averages);
    const { graph, parameters } = update;
    graph.setNumbers({ coefficients: sets.map(({ coefficients }) => coefficients), clipping });
    const ownGroups = this.#groups.slice(0, groups.length);
    let ownChange = change;
    return {
      update: graph.stepUpdate,
      calls: graph.calls(),
      ...(update.shared.length === 0 && {
        prepareAgain: () => {
          ownChange = changeBy('optimizer.step()');
          return this.#canRepeat(update, sets, ownGroups, clipping);
        },
        numbersOfLater: (run: number) => this.#numbersOfLater(update, sets, groups, run),
      }),
      begins: () => {
        for (const parameter of parameters) parameter.recordChange(ownChange);
      },
      ended: (runs) => {
        for (const part of graph.parts) part.toHost();
        this.#endUpdate(update, runs);
      },
    };
  }

  /** Prepares an update with the current settings, reusing the previous one if settings and memory are unchanged. */
  #canRepeat(
    update: Update,
    sets: readonly RequestedSet[],
    groups: readonly ParamGroup<Settings>[],
    clipping: Clipping | undefined,
  ): boolean {
    if (this.#released || this.#groups.length !== groups.length || !this.#updates.has(update)) return false;
    const { graph, sinks, parameters } = update;
    const isInPlace = ({ gradientSink }: Parameter, position: number) =>
      gradientSink === sinks[position].sink && gradientSink?.version === sinks[position].version;
    if (!parameters.every(isInPlace)) return false;
    const coefficients: Coefficients[] = [];
    for (const set of sets) {
      const group = groups[set.group];
      if (group.params.length !== set.groupSize) return false;
      this.#rule.check(group);
      if (!this.#states.areAsFar(set.parameters)) return false;
      const { progress } = this.#states.of(set.parameters[0]);
      coefficients.push(this.#rule.coefficients(group, progress));
      const isSameRule =
        isSameSequence(this.#rule.stateNames(group), set.stateNames) &&
        isSameSequence(definedNames(coefficients.at(-1)!), definedNames(set.coefficients));
      if (!isSameRule) return false;
    }
    graph.setNumbers({ coefficients, clipping });
    return true;
  }

  /** See `PartOfStep.numbersOfLater`. */
  #numbersOfLater(
    { graph }: Update,
    sets: readonly RequestedSet[],
    groups: readonly ParamGroup<Settings>[],
    run: number,
  ): ReadonlyMap<Source, Float32Array> | undefined {
    const coefficients = sets.map((set) => {
      const { step } = this.#states.of(set.parameters[0]).progress;
      return this.#rule.coefficients(groups[set.group], { step: step + run, isFresh: false });
    });
    const isSameGraph = coefficients.every((own, set) =>
      isSameSequence(definedNames(own), definedNames(sets[set].coefficients)),
    );
    return isSameGraph ? graph.numbersWith(coefficients) : undefined;
  }

  /**
   * Releases the parameters, so that another optimizer can use them. torch lets optimizers share parameters; ringrun rejects
   * this, because accidental sharing trains incorrectly without an error.
   */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    releaseOwnership(this.#states.parameters());
  }

  /**
   * A copy of settings and states (torch.optim.Optimizer.state_dict). Parameters are indices, in the order of the groups;
   * their elements are in the model's state dict.
   */
  stateDict(): OptimizerStateDict<Settings> {
    requireNothingPending(`${this.#rule.name}.stateDict`, this.#states.parameters(), { besideReads: true });
    const state: OptimizerStateDict['state'] = {};
    for (const group of this.#groups) {
      const names = this.#rule.stateNames(group);
      for (const parameter of group.params) {
        const saved = this.#states.of(parameter).save(names, parameter.shape, parameter.memory.length);
        if (saved !== undefined) state[this.#states.of(parameter).position] = saved;
      }
    }
    const paramGroups = this.#groups.map(({ params, ...settings }) => ({
      ...structuredClone(settings),
      params: params.map((parameter) => this.#states.of(parameter).position),
    }));
    return { state, paramGroups: paramGroups as unknown as OptimizerStateDict<Settings>['paramGroups'] };
  }

  /**
   * Loads settings and states from `stateDict` of an optimizer of the same class, with parameters of the same shapes in the
   * same groups (torch.optim.Optimizer.load_state_dict). Copies the arrays.
   *
   * @throws ArgumentError that lists all differences; nothing is changed in this case
   */
  loadStateDict(dict: OptimizerStateDict): void {
    this.#requireNotReleased();
    requireNothingPending(`${this.#rule.name}.loadStateDict`, this.#states.parameters(), {
      besideReads: true,
    });
    const loaded = checkStateDict(this.#rule, this.#groups, dict);
    for (const [position, { settings, states }] of loaded.entries()) {
      const group = this.#groups[position];
      delete group.initialLr;
      Object.assign(group, settings);
      for (const [index, parameter] of group.params.entries()) this.#states.of(parameter).load(states[index]);
    }
    this.#updates.clear();
  }

  #addGroups(given: readonly ParamGroupOptions<Settings>[]): void {
    const { name } = this.#rule;
    const added = given.map((group) => completeGroup(name, this.defaults, group));
    for (const group of added) this.#rule.check(group);
    requireInOneGroup(name, [...this.#groups, ...added]);
    const parameters = added.flatMap(({ params }) => params);
    if (this.#groups.length === 0 && parameters.length === 0) throw noParameters(name);
    requireUnowned(name, parameters);
    takeOwnership(name, parameters);
    this.#groups.push(...added);
    for (const parameter of parameters) {
      this.#states.add(parameter);
    }
  }

  #requireNotReleased(): void {
    if (!this.#released) return;
    throw new ArgumentError(
      `${this.#rule.name}: its parameters were released by release(). Create a new optimizer.`,
    );
  }

  /**
   * The parameters of a group that are updated: one set if all have been updated equally often, else one set per
   * parameter. So a set of parameters needs at most two programs.
   */
  #setsOf(
    group: ParamGroup<Settings>,
    index: number,
    isUpdated: (parameter: Parameter) => boolean,
  ): RequestedSet[] {
    const stateNames = this.#rule.stateNames(group);
    const parameters = group.params.filter(isUpdated);
    if (parameters.length === 0) return [];
    // Old updates would keep replaced states in memory.
    if (!this.#states.haveAll(parameters, stateNames)) this.#updates.clear();
    this.#states.place(parameters, stateNames);
    const groupSize = this.#groups[index].params.length;
    const setOf = (updated: readonly Parameter[]) => {
      const coefficients = this.#rule.coefficients(group, this.#states.of(updated[0]).progress);
      return { parameters: updated, stateNames, coefficients, group: index, groupSize };
    };
    return this.#states.areAsFar(parameters)
      ? [setOf(parameters)]
      : parameters.map((parameter) => setOf([parameter]));
  }
}

/** A step with the settings and options at the time of the call. */
interface RequestedStep<Settings extends CommonSettings> {
  readonly groups: readonly ParamGroup<Settings>[];
  readonly change: Change;
  readonly clipping: Clipping | undefined;
  /** True if the step averages the gradients of ranks that share the parameters' memory. */
  readonly averages: boolean;
}

/** A copy without frozen parameters, because user code may change settings or freeze parameters before a queued step runs. */
function copyOfGroup<Settings extends object>(group: ParamGroup<Settings>): ParamGroup<Settings> {
  const copy: Record<string, unknown> = { ...group };
  for (const name in copy) {
    const setting = copy[name];
    if (Array.isArray(setting)) copy[name] = [...(setting as unknown[])];
  }
  copy.params = group.params.filter(({ requiresGrad }) => requiresGrad);
  return copy as ParamGroup<Settings>;
}

function hasGradient(parameter: Parameter): boolean {
  return parameter.hasGradient;
}
