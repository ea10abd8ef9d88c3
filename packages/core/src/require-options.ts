import { InvalidArgumentError } from './errors.ts';
import { optionsProblem } from './known-options.ts';

export type { OptionNames } from './known-options.ts';

/** @throws InvalidArgumentError if `given` is neither undefined nor an object with known options of `where`. */
export function requireOptions(where: string, given: unknown, names: Readonly<Record<string, true>>): void {
  const problem = optionsProblem(where, given, names);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
}
