import { ArgumentError, NnError } from '../errors.ts';
import { changeBy, recordChange, type Change } from '../graph/changes.ts';
import type { Parameter } from '../parameter.ts';
import { requireNoStrangers } from '../strangers.ts';
import { inTurn, requireNothingPending } from '../turns.ts';
import { definedNames, updateOfCohorts, type Cohort, type CohortsUpdate } from './cohort.ts';
import { claim, disclaim, requireFree } from './owners.ts';
import {
  asGroups,
  completeGroup,
  noParameters,
  requireInOneGroup,
  type OptimizerParameters,
  type ParamGroup,
  type ParamGroupOptions,
} from './param-groups.ts';
import { ParameterState } from './parameter-state.ts';
import type { Rule } from './rule.ts';
import { checkStateDict, type OptimizerStateDict } from './state-dict.ts';

/** What every optimizer has a setting for. */
export interface CommonSettings {
  /** Learning rate. */
  lr: number;
}

/**
 * Changes parameters by their gradients (torch.optim.Optimizer).
 *
 * A subclass brings its rule as a graph over one parameter. All parameters' updates are compiled into one program that works in place and
 * reads the settings' numbers as inputs: changing a number costs nothing, changing what is computed (momentum from 0 to 0.9, say)
 * compiles anew.
 */
export abstract class Optimizer<Settings extends CommonSettings = CommonSettings> {
  /** The groups, whose settings may be changed between steps: `optimizer.paramGroups[0].lr = 0.01`. */
  readonly paramGroups: readonly ParamGroup<Settings>[];
  /** Settings of groups that do not have their own. */
  readonly defaults: Readonly<Settings>;
  readonly #groups: ParamGroup<Settings>[] = [];
  readonly #rule: Rule<Settings>;
  readonly #states = new Map<Parameter, ParameterState>();
  readonly #updates = new Map<string, CohortsUpdate>();
  #released = false;

  /** @param defaults every setting, for groups that do not say otherwise */
  constructor(rule: Rule<Settings>, parameters: OptimizerParameters<Settings>, defaults: Settings) {
    this.#rule = rule;
    this.defaults = structuredClone(defaults);
    this.paramGroups = this.#groups;
    this.#addGroups(asGroups(rule.name, parameters));
  }

  /**
   * One more group (torch.optim.Optimizer.add_param_group), such as layers that are trained from now on.
   *
   * @throws ArgumentError when another group or another optimizer has one of the parameters; nothing is added then
   */
  addParamGroup(group: ParamGroupOptions<Settings>): void {
    this.#requireHeld();
    this.#addGroups([group]);
  }

  /** Forgets the gradients of all parameters; the next backward pass starts new ones. */
  zeroGrad(): void {
    for (const parameter of this.#states.keys()) parameter.zeroGrad();
  }

  /**
   * Updates every parameter that has a gradient, in place, with the settings at the time of the call. It runs after the backward passes, steps and reads that were called before, and before those that
   * are called later, also if it is not awaited.
   *
   * @throws ArgumentError if the backward pass reached a parameter that no module lists and no optimizer has, as one of a layer in a #private field; NnError
   * (ERR_BACKWARD) if no parameter has a gradient; (ERR_NOT_AWAITED) if an operation that was called before and not awaited fails
   */
  async step(): Promise<void> {
    this.#requireHeld();
    for (const group of this.#groups) this.#rule.check(group);
    const groups = this.#groups.map(asItIsNow);
    const change = changeBy('optimizer.step()');
    const arrays = () => new Set(groups.flatMap(({ params }) => params.map(({ data }) => data)));
    await inTurn({ name: 'optimizer.step()', changes: true, arrays }, () => this.#stepNow(groups, change));
  }

  async #stepNow(groups: readonly ParamGroup<Settings>[], change: Change): Promise<void> {
    const cohorts = groups.flatMap((group) => this.#cohortsOf(group));
    if (cohorts.length === 0) {
      throw new NnError(
        'ERR_BACKWARD',
        'step: no parameter has a gradient; await loss.backward() comes first.',
      );
    }
    const members = cohorts.flatMap((cohort) => cohort.members);
    requireNoStrangers(members.map(({ parameter }) => parameter));
    const update = this.#updateOf(cohorts);
    for (const { parameter } of members) recordChange(parameter.value, change);
    await update(cohorts.map(({ coefficients }) => coefficients));
    for (const { parameter } of members) this.#stateOf(parameter).count();
  }

  /**
   * Gives the parameters up, so that another optimizer may take them. torch lets two optimizers share parameters; here that is refused,
   * because two that do so by mistake train wrongly without a word.
   */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    disclaim(this.#states.keys());
  }

  /**
   * A copy of settings and states (torch.optim.Optimizer.state_dict). Parameters have numbers in it, in the order of the groups; their elements are in
   * the model's state dict.
   */
  stateDict(): OptimizerStateDict<Settings> {
    requireNothingPending(`${this.#rule.name}.stateDict`, this.#states.keys(), { besideReads: true });
    const state: OptimizerStateDict['state'] = {};
    for (const group of this.#groups) {
      const names = this.#rule.stateNames(group);
      for (const parameter of group.params) {
        const saved = this.#stateOf(parameter).save(names, parameter.shape, parameter.data.length);
        if (saved !== undefined) state[this.#stateOf(parameter).position] = saved;
      }
    }
    const paramGroups = this.#groups.map(({ params, ...settings }) => ({
      ...structuredClone(settings),
      params: params.map((parameter) => this.#stateOf(parameter).position),
    }));
    return { state, paramGroups: paramGroups as unknown as OptimizerStateDict<Settings>['paramGroups'] };
  }

  /**
   * Takes over settings and states that `stateDict` gave, of an optimizer of the same class over parameters of the same shapes in the same groups
   * (torch.optim.Optimizer.load_state_dict). The arrays are copied.
   *
   * @throws ArgumentError that names everything that differs; nothing is changed then
   */
  loadStateDict(dict: OptimizerStateDict<Settings>): void {
    this.#requireHeld();
    requireNothingPending(`${this.#rule.name}.loadStateDict`, this.#states.keys(), { besideReads: true });
    const loaded = checkStateDict(this.#rule, this.#groups, dict);
    for (const [position, { settings, states }] of loaded.entries()) {
      const group = this.#groups[position];
      delete group.initialLr;
      Object.assign(group, settings);
      for (const [place, parameter] of group.params.entries()) this.#stateOf(parameter).load(states[place]);
    }
    // They would write the arrays of before.
    this.#updates.clear();
  }

  #addGroups(given: readonly ParamGroupOptions<Settings>[]): void {
    const { name } = this.#rule;
    const added = given.map((group) => completeGroup(name, this.defaults, group));
    for (const group of added) this.#rule.check(group);
    requireInOneGroup(name, [...this.#groups, ...added]);
    const parameters = added.flatMap(({ params }) => params);
    if (this.#groups.length === 0 && parameters.length === 0) throw noParameters(name);
    requireFree(name, parameters);
    claim(name, parameters);
    this.#groups.push(...added);
    for (const parameter of parameters) {
      this.#states.set(parameter, new ParameterState(this.#states.size));
    }
  }

  #requireHeld(): void {
    if (!this.#released) return;
    throw new ArgumentError(
      `${this.#rule.name}: its parameters were given up by release(); make a new optimizer.`,
    );
  }

  #stateOf(parameter: Parameter): ParameterState {
    return this.#states.get(parameter)!;
  }

  /**
   * The parameters of a group that have a gradient: one cohort as long as all of them have been updated equally often, else each for itself. So
   * there are two programs at most for one set of parameters, whatever the counts.
   */
  #cohortsOf(group: ParamGroup<Settings>): Cohort[] {
    const names = this.#rule.stateNames(group);
    const concerned = group.params.filter(({ grad }) => grad !== undefined);
    const members = concerned.map((parameter) => ({
      parameter,
      state: this.#stateOf(parameter).arraysFor(names, parameter.data.length),
    }));
    const moments = concerned.map((parameter) => this.#stateOf(parameter).moment);
    if (moments.every(({ step, isFresh }) => step === moments[0].step && isFresh === moments[0].isFresh)) {
      return members.length === 0
        ? []
        : [{ members, coefficients: this.#rule.coefficients(group, moments[0]) }];
    }
    return members.map((member, position) => ({
      members: [member],
      coefficients: this.#rule.coefficients(group, moments[position]),
    }));
  }

  #updateOf(cohorts: readonly Cohort[]): CohortsUpdate {
    // Which parameters have a gradient can change at any step, and what is computed with the settings.
    const key = cohorts.map((cohort) => this.#identify(cohort)).join(';');
    const update = this.#updates.get(key) ?? updateOfCohorts(this.#rule, cohorts);
    // The one used last comes last; there may be as many as there are sets of parameters that get a gradient.
    this.#updates.delete(key);
    this.#updates.set(key, update);
    if (this.#updates.size > mostUpdates) this.#updates.delete(this.#updates.keys().next().value!);
    return update;
  }

  #identify({ members, coefficients }: Cohort): string {
    // The gradient's place can change once, when a model is wrapped.
    const places = members.map(
      ({ parameter }) =>
        `${this.#stateOf(parameter).position}${parameter.gradientSink === undefined ? '' : 's'}`,
    );
    return `${places.join()}:${definedNames(coefficients).join()}:${Object.keys(members[0].state).join()}`;
  }
}

/** A scheduler may change the settings before the step's turn comes. */
function asItIsNow<Settings extends object>(group: ParamGroup<Settings>): ParamGroup<Settings> {
  const settings = Object.entries(group).map(([name, setting]) => {
    return [name, Array.isArray(setting) ? [...(setting as unknown[])] : setting];
  });
  return Object.fromEntries(settings) as ParamGroup<Settings>;
}

/** Graphs of updates that an optimizer keeps; their programs are kept by `programCache`. */
const mostUpdates = 16;
