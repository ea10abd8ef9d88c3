import { InvalidArgumentError, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { paddingMode, probability } from './arguments.ts';
import type { PaddingMode } from './arguments.ts';
import type { ColorTransform } from './colors.ts';
import type { Pad, RandomAffine, RandomRotation, RandomVerticalFlip } from './geometry.ts';
import type { ImageFileTransform } from './image-file-transforms.ts';
import type { RandomErasing } from './random-erasing.ts';

/*
 * Image transforms with the names and semantics of torchvision. Each is plain data that can be sent to a
 * worker thread; pipeline.ts implements them.
 */

/** A transform of images, as {@link Compose} accepts them. */
export type Transform =
  | ImageFileTransform
  | ColorTransform
  | RandomCrop
  | RandomHorizontalFlip
  | RandomVerticalFlip
  | Pad
  | RandomRotation
  | RandomAffine
  | ToTensor
  | Normalize
  | RandomErasing;

/** Options of {@link RandomCrop}. */
export interface RandomCropOptions {
  /** Pixels to add on each side before cropping. Default: 0. */
  padding?: number;
  /** What they show: black by 'constant', or the image's own pixels, as for {@link Pad}. Default: 'constant'. */
  paddingMode?: PaddingMode;
}

const cropOptions: OptionNames<RandomCropOptions> = { padding: true, paddingMode: true };

/** Crops the image at a random position (torchvision.transforms.RandomCrop). */
export class RandomCrop {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomCrop';
  /** Height of the result in pixels, at least 1. */
  readonly height: number;
  /** Width of the result in pixels, at least 1. */
  readonly width: number;
  /** Pixels added on each side before cropping. */
  readonly padding: number;
  /** What they show. */
  readonly paddingMode: PaddingMode;

  /** @param size size of the crop: one number for both sides, or [height, width] */
  constructor(size: number | readonly [height: number, width: number], options: RandomCropOptions = {}) {
    requireOptions('RandomCrop', options, cropOptions);
    const { padding = 0 } = options;
    const [height, width] = typeof size === 'number' ? [size, size] : size;
    this.height = requireInteger(height, { who: 'RandomCrop', what: 'height', min: 1 });
    this.width = requireInteger(width, { who: 'RandomCrop', what: 'width', min: 1 });
    this.padding = requireInteger(padding, { who: 'RandomCrop', what: 'padding', min: 0 });
    this.paddingMode = paddingMode(options.paddingMode ?? 'constant', 'RandomCrop');
  }
}

/** Flips the image horizontally with probability `p` (torchvision.transforms.RandomHorizontalFlip). */
export class RandomHorizontalFlip {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomHorizontalFlip';
  /** Probability of a flip, from 0 to 1. */
  readonly p: number;

  /**
   * The option `p` is the probability, from 0 to 1. Default: 0.5.
   *
   * @throws InvalidArgumentError if `p` is outside 0 to 1
   */
  constructor(options: { p?: number } = {}) {
    requireOptions('RandomHorizontalFlip', options, { p: true });
    this.p = probability(options.p ?? 0.5, 'RandomHorizontalFlip');
  }
}

/** Converts bytes to numbers from 0 to 1 (torchvision.transforms.ToTensor). */
export class ToTensor {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'ToTensor';
}

/** `(value - mean) / std`, by channel (torchvision.transforms.Normalize). */
export class Normalize {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'Normalize';
  /** One number per channel, subtracted from its values. */
  readonly mean: readonly number[];
  /** One number per channel, by which its values are divided after the subtraction. */
  readonly std: readonly number[];

  /** `mean` and `std` have one number per channel; `std` must not be 0. */
  constructor(mean: readonly number[], std: readonly number[]) {
    if (mean.length !== std.length || mean.length === 0)
      throw new InvalidArgumentError(
        `Normalize: mean and std must have one number for each channel, got ${mean.length} and ${std.length}.`,
      );
    const odd = [...mean, ...std].find((number) => !Number.isFinite(number));
    if (odd !== undefined)
      throw new InvalidArgumentError(`Normalize: mean and std must be finite, got ${odd}.`);
    if (std.includes(0)) throw new InvalidArgumentError('Normalize: std must not be 0.');
    this.mean = [...mean];
    this.std = [...std];
  }
}

/** Applies transforms in order (torchvision.transforms.Compose). */
export class Compose {
  /** Name of the class. */
  readonly kind = 'Compose';
  /** The transforms in the order in which they are applied. */
  readonly transforms: readonly Transform[];

  /** The list is copied. {@link ImageDataset} checks that its transforms fit each other. */
  constructor(transforms: readonly Transform[]) {
    this.transforms = [...transforms];
  }
}
