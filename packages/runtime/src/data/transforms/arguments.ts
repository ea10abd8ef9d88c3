import { InvalidArgumentError } from '@ringrun/core';

/*
 * Checks of the arguments of transforms.
 */

/** Two numbers, the smaller one first. */
export type Range = readonly [smallest: number, largest: number];

/** One number, or one for each channel. */
export type Fill = number | readonly number[];

/** How pixels between the image's are computed: by the nearest one, or linearly from the four around. */
export type Interpolation = 'nearest' | 'bilinear';

/**
 * What a border shows: one value; the pixel at the edge; the pixels inside, mirrored at the edge's pixel, or with it repeated
 * ('symmetric').
 */
export type PaddingMode = 'constant' | 'edge' | 'reflect' | 'symmetric';

/** @throws InvalidArgumentError for another name */
export function paddingMode(given: PaddingMode, who: string): PaddingMode {
  if (['constant', 'edge', 'reflect', 'symmetric'].includes(given)) return given;
  throw new InvalidArgumentError(
    `${who}: paddingMode must be 'constant', 'edge', 'reflect' or 'symmetric', got ${shown(given)}.`,
  );
}

/** @throws InvalidArgumentError if `p` is outside 0 to 1 */
export function probability(p: number, who: string): number {
  if (p >= 0 && p <= 1) return p;
  throw new InvalidArgumentError(`${who}: p must be a number from 0 to 1, got ${String(p)}.`);
}

/** Bounds of a {@link range}. */
export interface RangeBounds {
  who: string;
  what: string;
  min: number;
  max: number;
}

/** @throws InvalidArgumentError unless `given` is two numbers within the bounds, the smaller one first */
export function range(given: Range, { who, what, min, max }: RangeBounds): Range {
  const isPair = Array.isArray(given) && (given as readonly number[]).length === 2;
  if (isPair && given[0] >= min && given[0] <= given[1] && given[1] <= max) return [given[0], given[1]];
  throw new InvalidArgumentError(
    `${who}: ${what} must be two numbers from ${min} to ${max}, the smaller one first, got ${shown(given)}.`,
  );
}

/** torchvision's angles: one number stands for the range from -angle to angle. */
export function angles(given: number | Range, who: string, what: string): Range {
  const bounds = { who, what, min: -1e6, max: 1e6 };
  if (typeof given !== 'number') return range(given, bounds);
  if (given >= 0 && given <= bounds.max) return [-given, given];
  throw new InvalidArgumentError(
    `${who}: ${what} must be a number of at least 0, or a range [smallest, largest], got ${given}.`,
  );
}

/** @throws InvalidArgumentError unless all numbers are levels from 0 to 255 */
export function levels(given: Fill, who: string): Fill {
  const numbers = typeof given === 'number' ? [given] : given;
  if (Array.isArray(numbers) && numbers.length > 0 && numbers.every((level) => level >= 0 && level <= 255))
    return typeof given === 'number' ? given : [...given];
  throw new InvalidArgumentError(
    `${who}: fill must be a level from 0 to 255, or one for each channel, got ${shown(given)}.`,
  );
}

/** @throws InvalidArgumentError for another name */
export function interpolation(given: Interpolation, who: string): Interpolation {
  if (['nearest', 'bilinear'].includes(given)) return given;
  throw new InvalidArgumentError(
    `${who}: interpolation must be 'nearest' or 'bilinear', got ${shown(given)}.`,
  );
}

/** @throws InvalidArgumentError unless `given` is undefined or a point [x, y] */
export function center(given: readonly [x: number, y: number] | undefined, who: string) {
  const numbers: readonly number[] = given ?? [0, 0];
  if (numbers.length === 2 && numbers.every(Number.isFinite)) return given;
  throw new InvalidArgumentError(
    `${who}: center must be a point [x, y] in pixels from the upper left corner, got ${shown(given)}.`,
  );
}

/** One number for each channel. Throws InvalidArgumentError if there are numbers for other channels. */
export function perChannel(fill: Fill, channels: number, who: string, what: string): number[] {
  if (typeof fill === 'number') return Array.from({ length: channels }, () => fill);
  if (fill.length === channels) return [...fill];
  throw new InvalidArgumentError(
    `${who}: expected ${what} of one number or of ${channels} channels, got ${fill.length} numbers. Pass one number per channel.`,
  );
}

/** A value in an error. */
export function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}
