import { ArgumentError } from '../errors/errors.ts';

/** The size of a sequence's only axis. */
export type Single = number | readonly [length: number];

/** [height, width], or one number for both. */
export type Pair = number | readonly [height: number, width: number];

/** [depth, height, width], or one number for all. */
export type Triple = number | readonly [depth: number, height: number, width: number];

/** A size of images of one, two or three axes. */
export type Sizes = Single | Pair | Triple;

/** One number for each of `axes` axes. As in torch, a list of one number applies to all axes. */
export function sizesOf(sizes: Sizes, axes: number): readonly number[] {
  const all = typeof sizes === 'object' && sizes.length === 1 ? sizes[0] : sizes;
  return typeof all === 'number' ? Array<number>(axes).fill(all) : all;
}

/**
 * The most elements along an axis of a resized image, whose positions are constants of the program: longer ones would end the
 * process for lack of memory.
 */
const maxResized = 2 ** 24;

/** @throws ArgumentError if an axis of a resized image is too long */
export function requireResizable(name: string, sizes: readonly number[]): void {
  if (sizes.every((size) => size <= maxResized)) return;
  throw new ArgumentError(
    `${name}: expected at most ${maxResized} elements along an axis of the result, got ${sizes.join('x')}.`,
  );
}

/** @throws ArgumentError unless `given` is one integer of at least `least`, or one for each of `axes` axes */
export function requireAtLeast(what: string, least: number, given: Sizes, axes: number): readonly number[] {
  const sizes = sizesOf(given, axes);
  const isList: boolean = Array.isArray(sizes);
  const written = isList ? sizes.join('x') : JSON.stringify(given);
  if (!isList || sizes.length !== axes) {
    throw new ArgumentError(`${what} must be one integer or ${axes}, got ${written}.`);
  }
  if (sizes.some((value) => !Number.isInteger(value) || value < least)) {
    throw new ArgumentError(`${what} must be integers of at least ${least}, got ${written}.`);
  }
  return sizes;
}
