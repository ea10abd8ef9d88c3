import { TfjsError } from './errors.ts';
import { optionsProblem } from './known-options.ts';

export type { OptionNames } from './known-options.ts';

/** @throws TfjsError `ERR_ARGUMENT` where `given` is not an object with options of `where` alone; undefined stands for none */
export function requireOptions(where: string, given: unknown, names: Readonly<Record<string, true>>): void {
  const problem = optionsProblem(where, given, names);
  if (problem !== undefined) throw new TfjsError('ERR_ARGUMENT', problem);
}
