import { ArgumentError } from '../errors.ts';
import { Parameter } from '../parameter.ts';
import { requireOptions } from '../require-options.ts';
import { describeValue } from '../stored-tensor.ts';

/** Parameters and how they are updated (an entry of torch.optim.Optimizer.param_groups). Settings may be changed between steps. */
export type ParamGroup<Settings extends object> = Settings & {
  readonly params: readonly Parameter[];
  /** The learning rate that schedulers start from; set by the first of them. */
  initialLr?: number;
};

/** A group as it is given: settings that are left out are the optimizer's. */
export type ParamGroupOptions<Settings extends object> = Partial<Settings> & {
  params: Parameter | Iterable<Parameter>;
};

/** What an optimizer takes: parameters that share all settings, or groups of them. */
export type OptimizerParameters<Settings extends object> =
  Iterable<Parameter> | Iterable<ParamGroupOptions<Settings>>;

/** The groups that were given; parameters alone are one group. */
export function asGroups<Settings extends object>(
  where: string,
  given: OptimizerParameters<Settings>,
): ParamGroupOptions<Settings>[] {
  if (!isIterable(given)) {
    throw new ArgumentError(
      `${where}: takes Parameters, given ${describeValue(given)}; pass model.parameters().`,
    );
  }
  const elements: (Parameter | ParamGroupOptions<Settings>)[] = [...given];
  const parameters = elements.filter((element) => element instanceof Parameter);
  if (parameters.length === 0 && elements.length > 0) return elements as ParamGroupOptions<Settings>[];
  if (parameters.length < elements.length) {
    throw new ArgumentError(
      `${where}: takes Parameters or groups { params, … }, given both (element ${elements.findIndex((element) => !(element instanceof Parameter))} ` +
        'is no Parameter); put single parameters into a group too.',
    );
  }
  if (parameters.length === 0) throw noParameters(where);
  return [{ params: parameters } as unknown as ParamGroupOptions<Settings>];
}

export function noParameters(where: string): ArgumentError {
  return new ArgumentError(
    `${where}: got no parameters; pass model.parameters(), which finds layers in public fields, not in #private ones.`,
  );
}

/** A group with every setting, of which none is shared with another group. */
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

/** All settings, those that are not given (or undefined) from the defaults. Nothing is shared with either. */
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
      `${where}: a group is { params, … } with a list of Parameters, given ${describeValue(params)} as params.`,
    );
  }
  const elements = [...params];
  const stranger = elements.findIndex((element) => !(element instanceof Parameter));
  if (stranger !== -1) {
    throw new ArgumentError(
      `${where}: element ${stranger} of params is ${describeValue(elements[stranger])}, no Parameter.`,
    );
  }
  return elements as Parameter[];
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

/** Refuses a parameter that several groups would update. */
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
          `${where}: ${parameter.describe()} is in two parameter groups, ${earlier} and ${position}; leave it out of one.`,
        );
      }
      groupOf.set(parameter, position);
    }
  }
}
