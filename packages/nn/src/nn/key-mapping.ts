import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from '../checks/describe-value.ts';

/**
 * Maps keys of a state dict to keys of a module: a table of prefixes, the longest matching one of which is replaced, such as
 * `{ 'module.': '', 'fc.': 'head.' }`, or a function that returns the module's key, or undefined to leave the tensor out.
 */
export type KeyMapping = Readonly<Record<string, string>> | ((key: string) => string | undefined);

/**
 * The state dict under the module's keys. Keys without a matching prefix are unchanged.
 *
 * @throws ArgumentError if two keys map to the same one, or the mapping returns anything but a string or undefined
 */
export function withMappedKeys<Value>(
  state: ReadonlyMap<string, Value>,
  mapping: KeyMapping | undefined,
): ReadonlyMap<string, Value> {
  if (mapping === undefined) return state;
  const rename = typeof mapping === 'function' ? mapping : byPrefix(mapping);
  const origins = new Map<string, string>();
  const mapped = new Map<string, Value>();
  for (const [key, value] of state) {
    const renamed: unknown = rename(key);
    if (renamed === undefined) continue;
    if (typeof renamed !== 'string') {
      throw new ArgumentError(
        `loadStateDict: keyMapping: expected a key or undefined for ${key}, got ${describeValue(renamed)}.`,
      );
    }
    if (mapped.has(renamed)) {
      throw new ArgumentError(
        `loadStateDict: keyMapping: expected a different key for each tensor, got ${renamed} for ${origins.get(renamed)} and ${key}. To omit one, return undefined for it.`,
      );
    }
    origins.set(renamed, key);
    mapped.set(renamed, value);
  }
  return mapped;
}

function byPrefix(table: Readonly<Record<string, string>>): (key: string) => string {
  requireTable(table);
  const prefixes = Object.keys(table).sort((a, b) => b.length - a.length);
  return (key) => {
    const prefix = prefixes.find((one) => key.startsWith(one));
    return prefix === undefined ? key : table[prefix] + key.slice(prefix.length);
  };
}

function requireTable(table: unknown): void {
  const isTable = typeof table === 'object' && table !== null && !Array.isArray(table);
  if (isTable && Object.values(table).every((value) => typeof value === 'string')) return;
  throw new ArgumentError(
    `loadStateDict: keyMapping: expected a function or a table of prefixes such as { 'module.': '' }, got ${describeValue(table)}.`,
  );
}
