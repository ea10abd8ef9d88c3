import { ArgumentError } from '../errors/errors.ts';
import { Parameter } from '../tensor/parameter.ts';
import { requireOptions } from '../checks/require-options.ts';
import { describeValue } from '../checks/describe-value.ts';

/** Parameters and their settings (an entry of torch.optim.Optimizer.param_groups). Settings may be changed between steps. */
export type ParamGroup<Settings extends object> = Settings & {
  /** The group's parameters, without duplicates. */
  readonly params: readonly Parameter[];
  /** Initial learning rate for schedulers; set by the first scheduler. */
  initialLr?: number;
};

/** A parameter group as passed to an optimizer. Settings default to the optimizer's. */
export type ParamGroupOptions<Settings extends object> = Partial<Settings> & {
  /** The group's parameters. */
  params: Parameter | Iterable<Parameter>;
};

/** Parameters that share all settings, or parameter groups. */
export type OptimizerParameters<Settings extends object> =
  Iterable<Parameter> | Iterable<ParamGroupOptions<Settings>>;

/** Parameter groups; a list of parameters becomes one group. */
export function asGroups<Settings extends object>(
  where: string,
  given: OptimizerParameters<Settings>,
): ParamGroupOptions<Settings>[] {
  if (!isIterable(given)) {
    throw new ArgumentError(
      `${where}: expected Parameters, got ${describeValue(given)}. Pass model.parameters().`,
    );
  }
  const elements: (Parameter | ParamGroupOptions<Settings>)[] = [...given];
  const parameters = elements.filter((element) => element instanceof Parameter);
  if (parameters.length === 0 && elements.length > 0) return elements as ParamGroupOptions<Settings>[];
  if (parameters.length < elements.length) {
    throw new ArgumentError(
      `${where}: expected Parameters or groups { params, … }, got both (element ${elements.findIndex((element) => !(element instanceof Parameter))} ` +
        'is not a Parameter). Put single parameters into a group too.',
    );
  }
  if (parameters.length === 0) throw noParameters(where);
  return [{ params: parameters } as unknown as ParamGroupOptions<Settings>];
}

export function noParameters(where: string): ArgumentError {
  return new ArgumentError(
    `${where}: expected at least one parameter, got none. Pass model.parameters(), which finds layers in public fields, not in #private ones.`,
  );
}

/** A group with all settings. No setting object is shared between groups. */
export function completeGroup<Settings extends object>(
  where: string,
  defaults: Settings,
  { params, ...given }: ParamGroupOptions<Settings>,
): ParamGroup<Settings> {
  return {
    ...completeSettings(where, defaults, given),
    params: [...new Set(parametersOf(where, params))],
  };
}

/** Fills missing and undefined settings from the defaults. Returns copies. */
export function completeSettings<Settings extends object>(
  where: string,
  defaults: Settings,
  given: object,
): Settings {
  requireOptions(where, given, namesOf(defaults));
  const settings = Object.entries(given).filter(([, value]) => value !== undefined);
  return structuredClone({ ...defaults, ...Object.fromEntries(settings) });
}

function namesOf(settings: object): Record<string, true> {
  return Object.fromEntries(Object.keys(settings).map((name) => [name, true]));
}

function parametersOf(where: string, params: unknown): readonly Parameter[] {
  if (params instanceof Parameter) return [params];
  if (!isIterable(params)) {
    throw new ArgumentError(
      `${where}: expected a group { params, … } with a list of Parameters, got ${describeValue(params)} as params.`,
    );
  }
  const elements = [...params];
  const stranger = elements.findIndex((element) => !(element instanceof Parameter));
  if (stranger !== -1) {
    throw new ArgumentError(
      `${where}: expected Parameters in params, got ${describeValue(elements[stranger])} at index ${stranger}.`,
    );
  }
  return elements as Parameter[];
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

/** Rejects a parameter that is in several groups. */
export function requireInOneGroup(
  where: string,
  groups: readonly { readonly params: readonly Parameter[] }[],
): void {
  const groupOf = new Map<Parameter, number>();
  for (const [position, { params }] of groups.entries()) {
    for (const parameter of params) {
      const earlier = groupOf.get(parameter);
      if (earlier !== undefined) {
        throw new ArgumentError(
          `${where}: ${parameter.describe()} is in two parameter groups, ${earlier} and ${position}. Remove it from one.`,
        );
      }
      groupOf.set(parameter, position);
    }
  }
}
