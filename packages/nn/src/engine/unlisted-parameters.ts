import { ArgumentError } from '../errors/errors.ts';
import type { GradientReceiver } from '../graph/source.ts';

/*
 * Layers in #private fields are not listed by model.parameters(), so no optimizer would train them, silently. They are
 * detected when a backward pass computes their gradients.
 */

/** Parameters that belong to an optimizer, or did before its release(). */
const everOwned = new WeakSet<GradientReceiver>();

/** For each parameter, the unlisted parameters of the last backward pass that reached it, if any. */
const unlistedBeside = new WeakMap<GradientReceiver, readonly GradientReceiver[]>();

/** True once a backward pass has reached an unlisted parameter. */
let everUnlisted = false;

export function recordOwned(parameter: GradientReceiver): void {
  everOwned.add(parameter);
}

/** @param parameters all parameters whose gradients one backward pass computes */
export function recordReached(parameters: readonly GradientReceiver[]): void {
  if (!everUnlisted && !hasUnlisted(parameters)) return;
  everUnlisted = true;
  const unlisted = parameters.filter(isUnlisted);
  for (const parameter of parameters) {
    if (unlisted.length > 0) unlistedBeside.set(parameter, unlisted);
    else unlistedBeside.delete(parameter);
  }
}

/** True if a parameter has no module and no optimizer. */
export function hasUnlisted(parameters: readonly GradientReceiver[]): boolean {
  return parameters.some(isUnlisted);
}

/**
 * @param parameters the parameters that a step is about to update
 * @throws ArgumentError if the backward pass of one of them also reached a parameter without a module and an optimizer
 */
export function requireNoUnlistedParameters(parameters: readonly GradientReceiver[]): void {
  if (!everUnlisted) return;
  const unlisted = new Set(parameters.flatMap((parameter) => unlistedBeside.get(parameter) ?? []));
  const untrained = [...unlisted].filter((parameter) => isUnlisted(parameter) && parameter.hasGradient);
  if (untrained.length === 0) return;
  const names = untrained.slice(0, 4).map((parameter) => parameter.describe());
  const rest = untrained.length > names.length ? `, and ${untrained.length - names.length} more` : '';
  throw new ArgumentError(
    `step: ${names.join(', ')}${rest} has a gradient but would not be trained: no module lists it and no optimizer has it. ` +
      'Its layer is probably in a #private field, where parameters() cannot find it: use a public field or nn.ModuleList. ' +
      'If it must not be trained, compute it in noGrad() or use detach().',
  );
}

function isUnlisted(parameter: GradientReceiver): boolean {
  return parameter.path === undefined && !everOwned.has(parameter);
}
