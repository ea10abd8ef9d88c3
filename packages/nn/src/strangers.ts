import { ArgumentError } from './errors.ts';
import type { GradientReceiver } from './graph/operators.ts';

/*
 * Layers in #private fields are in no list of a model's parameters, so no optimizer would train them, silently. They show when a backward pass gives them a gradient.
 */

/** Parameters that an optimizer has, or had before its release(). */
const everOwned = new WeakSet<GradientReceiver>();

/** The strangers of the last backward pass that reached a parameter, if it had any. */
const strangersBeside = new WeakMap<GradientReceiver, readonly GradientReceiver[]>();

export function noteOwned(parameter: GradientReceiver): void {
  everOwned.add(parameter);
}

/** @param parameters all that one backward pass gives a gradient */
export function noteReached(parameters: readonly GradientReceiver[]): void {
  const strangers = parameters.filter(isStranger);
  for (const parameter of parameters) {
    if (strangers.length > 0) strangersBeside.set(parameter, strangers);
    else strangersBeside.delete(parameter);
  }
}

/**
 * @param parameters those that a step is about to update
 * @throws ArgumentError where a backward pass gave a gradient to one of them and to a parameter that no module has listed and no optimizer has
 */
export function requireNoStrangers(parameters: readonly GradientReceiver[]): void {
  const strangers = new Set(parameters.flatMap((parameter) => strangersBeside.get(parameter) ?? []));
  const untrained = [...strangers].filter(
    (parameter) => isStranger(parameter) && parameter.grad !== undefined,
  );
  if (untrained.length === 0) return;
  const names = untrained.slice(0, 4).map((parameter) => parameter.describe());
  const rest = untrained.length > names.length ? `, and ${untrained.length - names.length} more` : '';
  throw new ArgumentError(
    `step: ${names.join(', ')}${rest} got a gradient and would not be trained: no module lists it and no optimizer has it. ` +
      'A layer is probably kept in a #private field, where parameters() cannot find it; make it a public field, or one of an nn.ModuleList. ' +
      'What is not to be trained is computed in noGrad(), or cut off by detach().',
  );
}

function isStranger(parameter: GradientReceiver): boolean {
  return parameter.path === undefined && !everOwned.has(parameter);
}
