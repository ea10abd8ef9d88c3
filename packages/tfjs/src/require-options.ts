import { TfjsError } from './errors.ts';
import { optionsProblem } from './known-options.ts';

export type { OptionNames } from './known-options.ts';

/** @throws TfjsError `ERR_ARGUMENT` if `given` is not an object that has only options of `where`. Accepts undefined. */
export function requireOptions(where: string, given: unknown, names: Readonly<Record<string, true>>): void {
  const problem = optionsProblem(where, given, names);
  if (problem !== undefined) throw new TfjsError('ERR_ARGUMENT', problem);
}
