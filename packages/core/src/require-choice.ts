import { InvalidArgumentError } from './errors.ts';

/**
 * Checks an argument that is one of some words.
 *
 * @param who the class or function that has the argument, such as `DiLoCo`
 * @param what name of the argument, such as `transport`
 * @throws InvalidArgumentError unless `value` is one of the choices
 */
export function requireChoice(who: string, what: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return;
  const listed = choices.map((choice) => `'${choice}'`).join(', ');
  throw new InvalidArgumentError(`${who}: ${what}: expected one of ${listed}, got '${value}'.`);
}
