import { ArgumentError } from '../errors/errors.ts';
import { misfit, type StoredTensor } from '../tensor/stored-tensor.ts';
import { describeValue } from '../checks/describe-value.ts';
import type { ParamGroup } from './param-groups.ts';
import { aCount, aFiniteNumber, aListOf } from './require-state.ts';
import type { Rule } from './rule.ts';
import { isSameSequence } from '../graph/same-data.ts';

/** State of an optimizer in torch's layout: a deep copy of plain objects, numbers and arrays. */
export interface OptimizerStateDict<Settings extends object = object> {
  /** By parameter index; parameters that were never updated have no entry. */
  state: Record<number, ParameterStateDict>;
  /** The groups in their order. */
  paramGroups: StoredGroup<Settings>[];
}

/** `step`, the number of updates, and the rule's arrays under torch's names in camelCase, such as `expAvg`. */
export type ParameterStateDict = Record<string, number | StoredTensor> & {
  /** Number of updates of the parameter. */
  step: number;
};

/** A group's settings and the indices of its parameters, counted through all groups. */
export type StoredGroup<Settings extends object> = Settings & {
  /** Indices of the group's parameters, counted through all groups. */
  params: number[];
  /** Initial learning rate for schedulers, if a scheduler has set it. */
  initialLr?: number;
};

/** A validated group: its settings, and the state of each of its parameters, if any. */
export interface CheckedGroup<Settings extends object> {
  readonly settings: Settings & { initialLr?: number };
  readonly states: readonly (ParameterStateDict | undefined)[];
}

/**
 * Checks that a state dict matches an optimizer.
 *
 * @throws ArgumentError that lists all differences
 */
export function checkStateDict<Settings extends object>(
  rule: Rule<Settings>,
  groups: readonly ParamGroup<Settings>[],
  dict: OptimizerStateDict<Settings>,
): CheckedGroup<Settings>[] {
  requireLayout(rule.name, dict);
  const differences = [
    ...differentSizes(groups, dict),
    ...groups.flatMap((group, position) => {
      const stored = dict.paramGroups.at(position);
      return stored === undefined ? [] : differentGroup(rule, group, position, stored, dict.state);
    }),
    ...strayStates(dict),
  ];
  if (differences.length > 0) {
    throw new ArgumentError(
      `${rule.name}: the state dict does not match this optimizer: ${differences.join('; ')}. Nothing was loaded.`,
    );
  }
  return dict.paramGroups.map(({ params, ...settings }) => ({
    settings: structuredClone(settings) as unknown as Settings,
    states: params.map((number) => (Object.hasOwn(dict.state, number) ? dict.state[number] : undefined)),
  }));
}

function requireLayout(name: string, dict: unknown): void {
  const { state, paramGroups } = (dict ?? {}) as Record<string, unknown>;
  const fits = isPlain(state) && Array.isArray(paramGroups);
  if (!fits || paramGroups.some((group) => !Array.isArray((group as { params?: unknown } | null)?.params))) {
    throw new ArgumentError(
      `${name}: expected a state dict { state, paramGroups: [{ params: […], … }] } from stateDict(), got ${describeValue(dict)}.`,
    );
  }
}

function differentSizes(
  groups: readonly { readonly params: readonly unknown[] }[],
  { paramGroups }: OptimizerStateDict,
): string[] {
  const sizes = (all: readonly { readonly params: readonly unknown[] }[]) =>
    all.map(({ params }) => params.length);
  const [own, stored] = [sizes(groups), sizes(paramGroups)];
  if (isSameSequence(own, stored)) return [];
  return [`expected groups of [${own.join()}] parameters, got [${stored.join()}]`];
}

function differentGroup<Settings extends object>(
  rule: Rule<Settings>,
  group: ParamGroup<Settings>,
  position: number,
  stored: StoredGroup<Settings>,
  states: OptimizerStateDict['state'],
): string[] {
  const names = ({ params: _, initialLr: __, ...settings }: ParamGroup<Settings> | StoredGroup<Settings>) =>
    Object.keys(settings);
  const wrongNames = differentNames(names(stored), names(group)).map(
    (difference) => `group ${position} ${difference}`,
  );
  if (wrongNames.length > 0) return wrongNames;
  const wrongKinds = differentKinds(stored, group);
  if (wrongKinds.length > 0) return wrongKinds.map((difference) => `group ${position} ${difference}`);
  const refused = refusalOf(() => {
    rule.check(stored);
  });
  if (refused !== undefined) return [`group ${position}: ${refused}`];
  return group.params.flatMap(({ shape }, index) => {
    const number = stored.params.at(index);
    if (number === undefined || !Object.hasOwn(states, number)) return [];
    if (!isPlain(states[number]))
      return [`the state of parameter ${number} is ${describeValue(states[number])}`];
    return differentState(rule.stateNames(stored), shape, states[number]).map(
      (difference) => `the state of parameter ${number} ${difference}`,
    );
  });
}

/** Settings of another type than the optimizer's own. The rule checks only those that it limits. */
function differentKinds(stored: object, own: object): string[] {
  const { params, initialLr = 0, ...settings } = stored as Record<string, unknown>;
  const mine = own as Readonly<Record<string, unknown>>;
  const wrongParams = aListOf(aCount).fits(params) ? [] : ['has params other than indices'];
  const wrongRate = aFiniteNumber.fits(initialLr) ? [] : [`has initialLr ${describeValue(initialLr)}`];
  const others = Object.entries(settings)
    .filter(([name, value]) => kindOf(value) !== kindOf(mine[name]) && mine[name] !== undefined)
    .map(([name, value]) => `has ${name} ${describeValue(value)}, not ${kindOf(mine[name])}`);
  return [...wrongParams, ...wrongRate, ...others];
}

/** `a number`, `a boolean`, `a list of 2 numbers`. Null is a kind of its own. */
function kindOf(value: unknown): string {
  if (!Array.isArray(value)) return value === null ? 'null' : `a ${typeof value}`;
  const kinds = new Set(value.map((item) => typeof item));
  return `a list of ${value.length} ${[...kinds].join(' or ')}s`;
}

/** True for a plain object or null's prototype, not for a Map, a Date or a list. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function differentState(
  names: readonly string[],
  shape: readonly number[],
  { step, ...tensors }: ParameterStateDict,
): string[] {
  const wrongNames = differentNames(Object.keys(tensors), names);
  const misfits = names
    .filter((name) => name in tensors)
    .map((name) => [name, misfit(tensors[name], shape)])
    .filter(([, difference]) => difference !== undefined)
    .map((words) => words.join(' '));
  const wrongStep = aCount.fits(step) ? [] : [`has an invalid step, ${describeValue(step)}`];
  return [...wrongNames, ...misfits, ...wrongStep];
}

function differentNames(given: readonly string[], expected: readonly string[]): string[] {
  const missing = expected.filter((name) => !given.includes(name));
  const unknown = given.filter((name) => !expected.includes(name));
  return [
    ...(missing.length > 0 ? [`lacks ${missing.join(', ')}`] : []),
    ...(unknown.length > 0 ? [`has ${unknown.join(', ')}, which this optimizer does not use`] : []),
  ];
}

function strayStates({ state, paramGroups }: OptimizerStateDict): string[] {
  const known = new Set(paramGroups.flatMap(({ params }) => params.map(String)));
  const strays = Object.keys(state).filter((number) => !known.has(number));
  return strays.length === 0
    ? []
    : [`it has states of parameters ${strays.join()}, which are not in any group`];
}

function refusalOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/\.$/, '');
  }
}
