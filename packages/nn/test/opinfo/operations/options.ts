import type { Given } from '../given.ts';

/** Arguments of torch as options of ringrun: flags and strings; omitted ones stay undefined. */
export function options(given: Given, names: Readonly<Record<string, string>>): Record<string, never> {
  return collected(given, names, (name) => given.any(name));
}

/** The same for numbers. */
export function numberOptions(given: Given, names: object): Record<string, never> {
  return collected(given, names as Readonly<Record<string, string>>, (name) => given.number(name));
}

/** The same for sizes of windows: a number, or one for each axis. */
export function sizeOptions(given: Given, names: Readonly<Record<string, string>>): Record<string, never> {
  return collected(given, names, (name) => given.sizes(name));
}

function collected(
  given: Given,
  names: Readonly<Record<string, string>>,
  read: (name: string) => unknown,
): Record<string, never> {
  return Object.fromEntries(
    Object.entries(names)
      .filter(([name]) => given.has(name))
      .map(([name, option]) => [option, read(name) as never]),
  );
}
