/*
 * Unknown options are rejected, and the error suggests the nearest known name. Otherwise a misspelt option or a
 * positional argument would be ignored silently.
 */

/**
 * The names of options, which TypeScript compares with their type: `const names: OptionNames<SGDOptions> = { lr: true, …
 * }`. The first is the option that torch accepts at this position.
 */
export type OptionNames<Options extends object> = Readonly<Record<keyof Options, true>>;

type Names = Readonly<Record<string, true | undefined>>;

/**
 * The error message if `given` is not a valid options object for `where`; otherwise undefined.
 *
 * @internal
 */
export function optionsProblem(where: string, given: unknown, names: Names): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return notOptions(where, given, names);
  let isEmpty = true;
  for (const name in given) {
    if (names[name] !== true) return unknownOption(where, given, name, names);
    isEmpty = false;
  }
  if (isEmpty && !isPlain(given)) return notOptions(where, given, names);
  return undefined;
}

/**
 * The candidate of which `word` is a misspelling, with an edit distance of at most 3 and at most a third of its
 * letters; undefined if no candidate is that close.
 *
 * @internal
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const maxDistance = Math.min(3, Math.floor(word.length / 3));
  const ranked = candidates.map((candidate) => ({ candidate, distance: editDistance(word, candidate) }));
  const close = ranked.filter(({ distance }) => distance <= maxDistance);
  return close.sort((a, b) => a.distance - b.distance).at(0)?.candidate;
}

function unknownOption(where: string, given: object, name: string, names: Names): string {
  if (!isPlain(given)) return notOptions(where, given, names);
  const known = Object.keys(names);
  // torch's names have underscores.
  const camelCase = name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const found = known.includes(camelCase) ? camelCase : nearest(camelCase, known);
  const advice = found === undefined ? `Its options are ${known.join(', ')}.` : `Did you mean ${found}?`;
  return `${where}: ${name} is not an option. ${advice}`;
}

function notOptions(where: string, given: unknown, names: Names): string {
  const [first, ...others] = Object.keys(names);
  const isShort = typeof given === 'number' || typeof given === 'boolean' || typeof given === 'string';
  const example = `{ ${first}: ${isShort ? written(given) : '…'} }`;
  const rest = others.length === 0 ? '' : ` Other options are ${others.join(', ')}.`;
  return `${where}: expected an object of options, got ${written(given)}. Write it by name, as in ${example}.${rest}`;
}

function written(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value !== 'object' || value === null) return String(value);
  const { constructor } = value as { constructor?: { name?: unknown } };
  return `an object of class ${typeof constructor?.name === 'string' ? constructor.name : 'unknown'}`;
}

/** True for object literals of any realm and for objects without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/**
 * Levenshtein distance, row by row: row[j] is the distance between the letters of `a` so far and the first j of `b`.
 */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1] + Number(letter !== b[j - 1]);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}
