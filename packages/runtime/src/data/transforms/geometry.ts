import { InvalidArgumentError, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import {
  angles,
  center,
  interpolation,
  levels,
  paddingMode,
  probability,
  range,
  shown,
} from './arguments.ts';
import type { Fill, Interpolation, PaddingMode, Range } from './arguments.ts';

export type { PaddingMode } from './arguments.ts';

/*
 * Transforms that move pixels, with the names and semantics of torchvision.
 */

/** Flips the image vertically with probability `p` (torchvision.transforms.RandomVerticalFlip). */
export class RandomVerticalFlip {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomVerticalFlip';
  /** Probability of a flip, from 0 to 1. */
  readonly p: number;

  /** The option `p` is the probability, from 0 to 1. Default: 0.5. Throws InvalidArgumentError for other numbers. */
  constructor(options: { p?: number } = {}) {
    requireOptions('RandomVerticalFlip', options, { p: true });
    this.p = probability(options.p ?? 0.5, 'RandomVerticalFlip');
  }
}

/** Pixels to add: on all sides, left and right then above and below, or left, above, right and below. */
export type Padding =
  | number
  | readonly [leftRight: number, topBottom: number]
  | readonly [left: number, top: number, right: number, bottom: number];

/** Options of {@link Pad}. */
export interface PadOptions {
  /** Value of a constant border, or one for each channel. Default: 0. */
  fill?: Fill;
  /** What the border shows. Other modes than 'constant' come before ToTensor. Default: 'constant'. */
  paddingMode?: PaddingMode;
}

/** Adds borders of one colour, or of the image's own pixels (torchvision.transforms.Pad). */
export class Pad {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'Pad';
  /** Pixels to add on each side. */
  readonly padding: readonly [left: number, top: number, right: number, bottom: number];
  /** Value of the border: a level from 0 to 255 before ToTensor, or a number of the tensor after it. */
  readonly fill: Fill;
  /** What the border shows. */
  readonly paddingMode: PaddingMode;

  /**
   * @param padding pixels, at least 0; two numbers are those left and right, and those above and below
   * @throws InvalidArgumentError for other numbers
   */
  constructor(padding: Padding, options: PadOptions = {}) {
    requireOptions('Pad', options, { fill: true, paddingMode: true });
    const [left, top, right = left, bottom = top] =
      typeof padding === 'number' ? [padding, padding] : padding;
    const side = (pixels: number) => requireInteger(pixels, { who: 'Pad', what: 'padding', min: 0 });
    this.padding = [side(left), side(top), side(right), side(bottom)];
    const { fill = 0 } = options;
    const numbers = typeof fill === 'number' ? [fill] : [...fill];
    if (!numbers.every(Number.isFinite))
      throw new InvalidArgumentError(
        `Pad: fill must be a number, or one for each channel, got ${shown(fill)}.`,
      );
    this.fill = typeof fill === 'number' ? fill : numbers;
    this.paddingMode = paddingMode(options.paddingMode ?? 'constant', 'Pad');
  }
}

/** Options of {@link RandomRotation}. */
export interface RandomRotationOptions {
  /** How pixels between the image's are computed. Default: 'nearest'. */
  interpolation?: Interpolation;
  /** The point that stays, in pixels from the upper left corner. Default: the center of the image. */
  center?: readonly [x: number, y: number];
  /** Level of pixels outside of the image, from 0 to 255, or one for each channel. Default: 0. */
  fill?: Fill;
}

const rotationOptions: OptionNames<RandomRotationOptions> = { interpolation: true, center: true, fill: true };

/**
 * Rotates the image by a random angle (torchvision.transforms.RandomRotation). It keeps its size: torchvision's option
 * `expand` has no counterpart, because the images of a batch have one size.
 */
export class RandomRotation {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomRotation';
  /** Smallest and largest angle in degrees, counterclockwise. */
  readonly degrees: Range;
  /** How pixels between the image's are computed. */
  readonly interpolation: Interpolation;
  /** The point that stays; undefined for the center of the image. */
  readonly center: readonly [x: number, y: number] | undefined;
  /** Level of pixels outside of the image. */
  readonly fill: Fill;

  /**
   * @param degrees range of the angle; one number stands for [-degrees, degrees]
   * @throws InvalidArgumentError for numbers out of range
   */
  constructor(degrees: number | Range, options: RandomRotationOptions = {}) {
    const who = 'RandomRotation';
    requireOptions(who, options, rotationOptions);
    this.degrees = angles(degrees, who, 'degrees');
    this.interpolation = interpolation(options.interpolation ?? 'nearest', who);
    this.center = center(options.center, who);
    this.fill = levels(options.fill ?? 0, who);
  }
}

/** Options of {@link RandomAffine}. */
export interface RandomAffineOptions extends RandomRotationOptions {
  /** Largest shift as a share of width and height, from 0 to 1. Default: no shift. */
  translate?: readonly [horizontal: number, vertical: number];
  /** Range of the scale, above 0. Default: no scaling. */
  scale?: Range;
  /**
   * Range of the shear in degrees: one number stands for [-shear, shear] along the x axis, two are a range along the x
   * axis, and four are ranges along both axes. Default: no shear.
   */
  shear?:
    number | Range | readonly [xSmallest: number, xLargest: number, ySmallest: number, yLargest: number];
}

const affineOptions: OptionNames<RandomAffineOptions> = {
  ...rotationOptions,
  translate: true,
  scale: true,
  shear: true,
};

/** Rotates, shifts, scales and shears the image by random amounts (torchvision.transforms.RandomAffine). */
export class RandomAffine {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomAffine';
  /** Smallest and largest angle in degrees, clockwise. */
  readonly degrees: Range;
  /** Largest shift as a share of width and height; undefined for none. */
  readonly translate: readonly [horizontal: number, vertical: number] | undefined;
  /** Range of the scale; undefined for none. */
  readonly scale: Range | undefined;
  /** Ranges of the shear in degrees along the x axis and, if there are two, along the y axis; undefined for none. */
  readonly shear: readonly Range[] | undefined;
  /** How pixels between the image's are computed. */
  readonly interpolation: Interpolation;
  /** The point around which the image is rotated, scaled and sheared; undefined for its center. */
  readonly center: readonly [x: number, y: number] | undefined;
  /** Level of pixels outside of the image. */
  readonly fill: Fill;

  /**
   * @param degrees range of the angle; one number stands for [-degrees, degrees], and 0 for no rotation
   * @throws InvalidArgumentError for numbers out of range
   */
  constructor(degrees: number | Range, options: RandomAffineOptions = {}) {
    const who = 'RandomAffine';
    requireOptions(who, options, affineOptions);
    const { translate, scale, shear } = options;
    this.degrees = angles(degrees, who, 'degrees');
    const shares: readonly number[] = translate ?? [0, 0];
    if (shares.length !== 2 || !shares.every((share) => share >= 0 && share <= 1))
      throw new InvalidArgumentError(
        `${who}: translate must be two numbers from 0 to 1, got ${shown(translate)}.`,
      );
    this.translate = translate && [translate[0], translate[1]];
    this.scale = scale && range(scale, { who, what: 'scale', min: 1e-6, max: 1e6 });
    this.shear = shear === undefined ? undefined : shears(shear);
    this.interpolation = interpolation(options.interpolation ?? 'nearest', who);
    this.center = center(options.center, who);
    this.fill = levels(options.fill ?? 0, who);
  }
}

function shears(shear: number | readonly number[]): readonly Range[] {
  const along = (given: number | Range) => angles(given, 'RandomAffine', 'shear');
  if (typeof shear === 'number') return [along(shear)];
  if (shear.length === 2) return [along([shear[0], shear[1]])];
  if (shear.length === 4) return [along([shear[0], shear[1]]), along([shear[2], shear[3]])];
  throw new InvalidArgumentError(
    `RandomAffine: shear must be one, two or four numbers, got ${shown(shear)}.`,
  );
}
