import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { probability, range, shown } from './arguments.ts';
import type { Range } from './arguments.ts';

/*
 * Transforms of colours, with the names and semantics of torchvision. They change bytes, so they come before ToTensor.
 */

/** A transform of colours. */
export type ColorTransform = ColorJitter | Grayscale | RandomGrayscale;

/** Options of {@link ColorJitter}: one number `x` stands for [max(0, 1 - x), 1 + x]; for hue, [-x, x]. */
export interface ColorJitterOptions {
  /** Range of the factor of the brightness, at least 0. Default: 0, no change. */
  brightness?: number | Range;
  /** Range of the factor of the contrast, at least 0. Default: 0, no change. */
  contrast?: number | Range;
  /** Range of the factor of the saturation, at least 0. Default: 0, no change. */
  saturation?: number | Range;
  /** Range of the change of the hue, from -0.5 to 0.5 turns. Default: 0, no change. */
  hue?: number | Range;
}

const jitterOptions: OptionNames<ColorJitterOptions> = {
  brightness: true,
  contrast: true,
  saturation: true,
  hue: true,
};

/** Factors above this are of no use, because levels end at 255. */
const largestFactor = 1e6;

/**
 * Changes brightness, contrast, saturation and hue by random amounts, in a random order
 * (torchvision.transforms.ColorJitter). Images have 1 or 3 channels.
 */
export class ColorJitter {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'ColorJitter';
  /** Range of the factor; undefined for no change. */
  readonly brightness: Range | undefined;
  /** Range of the factor; undefined for no change. */
  readonly contrast: Range | undefined;
  /** Range of the factor; undefined for no change. */
  readonly saturation: Range | undefined;
  /** Range of the change in turns; undefined for no change. */
  readonly hue: Range | undefined;

  /**
   * Arguments by name, `new ColorJitter({ brightness: 0.4 })`, or by position as in torchvision, `new ColorJitter(0.4, 0.4)`.
   *
   * @throws InvalidArgumentError for ranges that are out of bounds
   */
  constructor(
    brightness: ColorJitterOptions | number | Range = {},
    contrast: number | Range = 0,
    saturation: number | Range = 0,
    hue: number | Range = 0,
  ) {
    const isByName = typeof brightness === 'object' && !Array.isArray(brightness);
    const given = isByName
      ? (brightness as ColorJitterOptions)
      : { brightness: brightness as number | Range, contrast, saturation, hue };
    requireOptions('ColorJitter', given, jitterOptions);
    this.brightness = factors('brightness', given.brightness);
    this.contrast = factors('contrast', given.contrast);
    this.saturation = factors('saturation', given.saturation);
    this.hue = around(0, given.hue, { what: 'hue', min: -0.5, max: 0.5 });
  }
}

/** Converts images to gray levels (torchvision.transforms.Grayscale). */
export class Grayscale {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'Grayscale';
  /** Channels of the result. */
  readonly numOutputChannels: 1 | 3;

  /**
   * The option `numOutputChannels` is 1, or 3 for three equal channels. Default: 1.
   *
   * @throws InvalidArgumentError for another number
   */
  constructor(options: { numOutputChannels?: 1 | 3 } = {}) {
    requireOptions('Grayscale', options, { numOutputChannels: true });
    const { numOutputChannels = 1 } = options;
    if (![1, 3].includes(numOutputChannels))
      throw new InvalidArgumentError(
        `Grayscale: numOutputChannels must be 1 or 3, got ${shown(numOutputChannels)}.`,
      );
    this.numOutputChannels = numOutputChannels;
  }
}

/** Converts images to gray levels with probability `p`, and keeps their channels (torchvision.transforms.RandomGrayscale). */
export class RandomGrayscale {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomGrayscale';
  /** Probability, from 0 to 1. */
  readonly p: number;

  /** The option `p` is the probability, from 0 to 1. Default: 0.1. Throws InvalidArgumentError for other numbers. */
  constructor(options: { p?: number } = {}) {
    requireOptions('RandomGrayscale', options, { p: true });
    this.p = probability(options.p ?? 0.1, 'RandomGrayscale');
  }
}

function factors(what: string, given: number | Range | undefined): Range | undefined {
  return around(1, given, { what, min: 0, max: largestFactor });
}

function around(
  middle: number,
  given: number | Range = 0,
  { what, min, max }: { what: string; min: number; max: number },
): Range | undefined {
  const who = 'ColorJitter';
  if (typeof given === 'number' && !(given >= 0))
    throw new InvalidArgumentError(
      `${who}: ${what} must be a number of at least 0, or a range [smallest, largest], got ${given}.`,
    );
  const ends: Range = typeof given === 'number' ? [middle - given, middle + given] : given;
  const clipped: Range = typeof given === 'number' && middle > 0 ? [Math.max(0, ends[0]), ends[1]] : ends;
  const checked = range(clipped, { who, what, min, max });
  return checked[0] === middle && checked[1] === middle ? undefined : checked;
}
