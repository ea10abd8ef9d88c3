import { ArgumentError } from '../errors/errors.ts';

/**
 * @param where the function or class, such as `gridSample`
 * @param name the option
 * @param values at least one
 */
export function requireOneOf(where: string, name: string, value: unknown, values: readonly string[]): void {
  if ((values as readonly unknown[]).includes(value)) return;
  const quoted = values.map((one) => `'${one}'`);
  const expected = quoted.length > 1 ? `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}` : quoted[0];
  throw new ArgumentError(`${where}: ${name} must be ${expected}, got '${String(value)}'.`);
}
