import { ArgumentError } from '../errors.ts';
import type { Parameter } from '../parameter.ts';
import { noteOwned } from '../strangers.ts';

/** Which optimizer changes a parameter; its name, not itself, whose states would live as long as the parameter. */
const owners = new WeakMap<Parameter, string>();

/** @throws ArgumentError when an optimizer has one of the parameters already */
export function requireFree(where: string, parameters: Iterable<Parameter>): void {
  for (const parameter of parameters) {
    const owner = owners.get(parameter);
    if (owner !== undefined) {
      throw new ArgumentError(
        `${where}: ${parameter.describe()} belongs to another optimizer (${owner}), and two would change it at every step; ` +
          'call release() on that one first, or leave the parameter out here.',
      );
    }
  }
}

export function claim(name: string, parameters: Iterable<Parameter>): void {
  for (const parameter of parameters) {
    owners.set(parameter, name);
    noteOwned(parameter);
  }
}

export function disclaim(parameters: Iterable<Parameter>): void {
  for (const parameter of parameters) owners.delete(parameter);
}
