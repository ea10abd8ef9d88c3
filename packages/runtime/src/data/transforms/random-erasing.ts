import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { probability, range, shown } from './arguments.ts';
import type { Fill, Range } from './arguments.ts';

/** Options of {@link RandomErasing}. */
export interface RandomErasingOptions {
  /** Probability, from 0 to 1. Default: 0.5. */
  p?: number;
  /** Smallest and largest area of the rectangle, as a share of the image's. Default: [0.02, 0.33]. */
  scale?: Range;
  /** Smallest and largest height / width of the rectangle. Default: [0.3, 3.3]. */
  ratio?: Range;
  /** Value of the erased pixels, one for each channel, or 'random' for normally distributed values. Default: 0. */
  value?: Fill | 'random';
}

const optionNames: OptionNames<RandomErasingOptions> = { p: true, scale: true, ratio: true, value: true };

/** Erases a random rectangle of a tensor (torchvision.transforms.RandomErasing). Comes after ToTensor. */
export class RandomErasing {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomErasing';
  /** Probability, from 0 to 1. */
  readonly p: number;
  /** Smallest and largest area of the rectangle, as a share of the image's. */
  readonly scale: Range;
  /** Smallest and largest height / width of the rectangle. */
  readonly ratio: Range;
  /** Value of the erased pixels, one for each channel, or 'random' for normally distributed values. */
  readonly value: Fill | 'random';

  /** @throws InvalidArgumentError for numbers out of range */
  constructor(options: RandomErasingOptions = {}) {
    const who = 'RandomErasing';
    requireOptions(who, options, optionNames);
    const { p = 0.5, scale = [0.02, 0.33], ratio = [0.3, 3.3], value = 0 } = options;
    this.p = probability(p, who);
    this.scale = range(scale, { who, what: 'scale', min: 0, max: 1 });
    this.ratio = range(ratio, { who, what: 'ratio', min: 1e-6, max: 1e6 });
    const isNumbers = (Array.isArray(value) ? value : [value]).every(Number.isFinite);
    if (value !== 'random' && !isNumbers)
      throw new InvalidArgumentError(
        `${who}: value must be a number, one for each channel, or 'random', got ${shown(value)}.`,
      );
    this.value = Array.isArray(value) ? [...(value as readonly number[])] : value;
  }
}
