import { ArgumentError } from '../errors/errors.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { recordOwned } from '../engine/unlisted-parameters.ts';

/**
 * Name of the optimizer that owns a parameter. Not the optimizer itself, to avoid keeping its states alive as long as the
 * parameter.
 */
const owners = new WeakMap<Parameter, string>();

/** @throws ArgumentError if an optimizer already owns one of the parameters */
export function requireUnowned(where: string, parameters: Iterable<Parameter>): void {
  for (const parameter of parameters) {
    const owner = owners.get(parameter);
    if (owner !== undefined) {
      throw new ArgumentError(
        `${where}: ${parameter.describe()} belongs to another optimizer (${owner}), and both would change it at every step. ` +
          'Call release() on the other optimizer first, or omit the parameter.',
      );
    }
  }
}

export function takeOwnership(name: string, parameters: Iterable<Parameter>): void {
  for (const parameter of parameters) {
    owners.set(parameter, name);
    recordOwned(parameter);
  }
}

export function releaseOwnership(parameters: Iterable<Parameter>): void {
  for (const parameter of parameters) owners.delete(parameter);
}
