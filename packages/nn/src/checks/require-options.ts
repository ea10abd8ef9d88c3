import { optionsProblem } from '@ringrun/core';
import { ArgumentError } from '../errors/errors.ts';

export type { OptionNames } from '@ringrun/core';

/** @throws ArgumentError if `given` is not an object that has only options of `where`. Accepts undefined. */
export function requireOptions(where: string, given: unknown, names: Readonly<Record<string, true>>): void {
  const problem = optionsProblem(where, given, names);
  if (problem !== undefined) throw new ArgumentError(problem);
}
