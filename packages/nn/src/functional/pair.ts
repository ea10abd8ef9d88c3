import { ArgumentError } from '../errors.ts';

/** [height, width], or one number for both. */
export type Pair = number | readonly [height: number, width: number];

/** [height, width] of a pair. */
export function pairOf(pair: Pair): readonly [number, number] {
  return typeof pair === 'number' ? [pair, pair] : pair;
}

export function requireAtLeast(what: string, least: number, given: Pair): readonly [number, number] {
  const pair = pairOf(given);
  if (pair.some((value) => !Number.isInteger(value) || value < least)) {
    throw new ArgumentError(`${what} must be integers of at least ${least}, got ${pair.join('x')}.`);
  }
  return pair;
}
