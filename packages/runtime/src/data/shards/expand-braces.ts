import { InvalidArgumentError } from '@ringrun/core';

/** Maximum number of shards of one dataset. A larger number is a mistake in a range. */
const maxShards = 1_000_000;

/**
 * Expands braces as a shell does: `a{x,y}` is `ax`, `ay`, and `{08..10}` is `08`, `09`, `10`. Braces may be adjacent,
 * but not nested.
 *
 * @throws InvalidArgumentError for braces that hold neither a list nor a range
 */
export function expandBraces(pattern: string): string[] {
  const found = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(pattern);
  if (!found) return [pattern];
  const [, before, inside, after] = found;
  const endings = expandBraces(after);
  const alternatives = alternativesOf(inside, pattern);
  if (alternatives.length * endings.length > maxShards)
    throw tooMany(pattern, alternatives.length * endings.length);
  return alternatives.flatMap((alternative) => endings.map((ending) => before + alternative + ending));
}

function alternativesOf(inside: string, pattern: string): string[] {
  const range = /^(\d+)\.\.(\d+)$/.exec(inside);
  if (range) return rangeOf(range[1], range[2], pattern);
  if (inside.includes(',')) return inside.split(',');
  throw new InvalidArgumentError(
    `${pattern}: expected a range such as {000..019} or a list such as {a,b} in braces, got {${inside}}.`,
  );
}

/** Numbers have leading zeros if one of the ends has. */
function rangeOf(first: string, last: string, pattern: string): string[] {
  const [from, to] = [Number(first), Number(last)];
  const isPadded = [first, last].some((end) => end.length > 1 && end.startsWith('0'));
  const width = isPadded ? Math.max(first.length, last.length) : 0;
  const count = Math.abs(to - from) + 1;
  if (count > maxShards) throw tooMany(pattern, count);
  const step = to < from ? -1 : 1;
  return Array.from({ length: count }, (_, i) => String(from + step * i).padStart(width, '0'));
}

function tooMany(pattern: string, count: number): InvalidArgumentError {
  return new InvalidArgumentError(
    `${pattern}: expected at most ${maxShards} names, got ${count}. Correct the range.`,
  );
}
