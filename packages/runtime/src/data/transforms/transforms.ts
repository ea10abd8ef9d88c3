import { InvalidArgumentError } from '@ringrun/collectives/errors';
import { requireOptions, type OptionNames } from '@ringrun/collectives/require-options';
import { requireInteger } from '../require-integer.ts';

/*
 * What can be done to an image on its way into a batch, with torchvision's names and meanings. Each is plain data, so that a worker thread can be given it; what
 * is done is in pipeline.ts.
 */

export type Transform = RandomCrop | RandomHorizontalFlip | ToTensor | Normalize;

export interface RandomCropOptions {
  /** Black pixels around the image before it is cropped, on each side; 0 unless given. */
  padding?: number;
}

const cropOptions: OptionNames<RandomCropOptions> = { padding: true };

/** A part of the image, at a random place (torchvision.transforms.RandomCrop). */
export class RandomCrop {
  readonly kind = 'RandomCrop';
  readonly height: number;
  readonly width: number;
  readonly padding: number;

  /** `size`: of the part; a number for both sides, or [height, width]. */
  constructor(size: number | readonly [height: number, width: number], options: RandomCropOptions = {}) {
    requireOptions('RandomCrop', options, cropOptions);
    const { padding = 0 } = options;
    const [height, width] = typeof size === 'number' ? [size, size] : size;
    this.height = requireInteger(height, { who: 'RandomCrop', what: 'height', min: 1 });
    this.width = requireInteger(width, { who: 'RandomCrop', what: 'width', min: 1 });
    this.padding = requireInteger(padding, { who: 'RandomCrop', what: 'padding', min: 0 });
  }
}

/** Left and right exchanged, in a share `p` of the cases (torchvision.transforms.RandomHorizontalFlip). */
export class RandomHorizontalFlip {
  readonly kind = 'RandomHorizontalFlip';
  readonly p: number;

  /** `p`: from 0 to 1; 0.5 unless given. */
  constructor(options: { p?: number } = {}) {
    requireOptions('RandomHorizontalFlip', options, { p: true });
    const { p = 0.5 } = options;
    if (!(p >= 0 && p <= 1))
      throw new InvalidArgumentError(`RandomHorizontalFlip: p must be a number from 0 to 1, got ${p}.`);
    this.p = p;
  }
}

/** Bytes become numbers from 0 to 1 (torchvision.transforms.ToTensor). */
export class ToTensor {
  readonly kind = 'ToTensor';
}

/** `(value - mean) / std`, by channel (torchvision.transforms.Normalize). */
export class Normalize {
  readonly kind = 'Normalize';
  readonly mean: readonly number[];
  readonly std: readonly number[];

  /** `mean`, `std`: one number for each channel; `std` not 0. */
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

/** One after the other (torchvision.transforms.Compose). */
export class Compose {
  readonly kind = 'Compose';
  readonly transforms: readonly Transform[];

  constructor(transforms: readonly Transform[]) {
    this.transforms = [...transforms];
  }
}
