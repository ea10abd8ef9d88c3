import { InvalidArgumentError, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import type { Batched } from '../collate.ts';
import { probability, shown } from './arguments.ts';

/*
 * Transforms of whole batches, with the names and semantics of torchvision.transforms.v2. Each is plain data that can be sent to a
 * worker thread; batch-transform.ts implements them.
 */

/** A batch that {@link MixUp} or {@link CutMix} created. */
export interface MixedBatch {
  /** Mixed images, [n, channels, height, width]. */
  image: Batched<Float32Array>;
  /** Class probabilities, [n, numClasses]: targets of `F.crossEntropy`. */
  label: Batched<Float32Array>;
}

/** A transform of batches: the option `batchTransform` of `DataLoader`. */
export type BatchTransform = MixUp | CutMix | RandomChoice;

/** Options of {@link MixUp} and {@link CutMix}. */
export interface MixOptions {
  /** Number of classes. Labels are from 0 to `numClasses` - 1. */
  numClasses: number;
  /** Parameter of the distribution of lambda, Beta(alpha, alpha); above 0. Default: 1, uniform. */
  alpha?: number;
}

const mixOptions: OptionNames<MixOptions> = { numClasses: true, alpha: true };

/**
 * Mixes each image and its label with those before it, the first with the last: lambda · image + (1 - lambda) · the one before
 * (torchvision.transforms.v2.MixUp). Lambda is from Beta(alpha, alpha), one for each batch.
 */
export class MixUp {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'MixUp';
  /** Only a type: the batches of a loader with this transform. */
  declare readonly batch?: MixedBatch;
  /** Number of classes. */
  readonly numClasses: number;
  /** Parameter of the distribution of lambda. */
  readonly alpha: number;

  /** @throws InvalidArgumentError for numbers out of range */
  constructor(options: MixOptions) {
    requireOptions('MixUp', options, mixOptions);
    this.numClasses = requireInteger(options.numClasses, { who: 'MixUp', what: 'numClasses', min: 1 });
    this.alpha = above0(options.alpha ?? 1, 'MixUp');
  }
}

/**
 * Replaces a random rectangle of each image by that of the image before it, the first by the last, and mixes labels by area
 * (torchvision.transforms.v2.CutMix). The rectangle has the share 1 - lambda of the image, up to its edge; lambda is from
 * Beta(alpha, alpha), one for each batch.
 */
export class CutMix {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'CutMix';
  /** Only a type: the batches of a loader with this transform. */
  declare readonly batch?: MixedBatch;
  /** Number of classes. */
  readonly numClasses: number;
  /** Parameter of the distribution of lambda. */
  readonly alpha: number;

  /** @throws InvalidArgumentError for numbers out of range */
  constructor(options: MixOptions) {
    requireOptions('CutMix', options, mixOptions);
    this.numClasses = requireInteger(options.numClasses, { who: 'CutMix', what: 'numClasses', min: 1 });
    this.alpha = above0(options.alpha ?? 1, 'CutMix');
  }
}

/** Applies one of several transforms to each batch (torchvision.transforms.RandomChoice). */
export class RandomChoice {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomChoice';
  /** Only a type: the batches of a loader with this transform. */
  declare readonly batch?: MixedBatch;
  /** The transforms to choose from. */
  readonly transforms: readonly (MixUp | CutMix)[];
  /** Probability of each transform. */
  readonly p: readonly number[];

  /**
   * The option `p` has the probability of each transform; its sum is 1. Default: equal probabilities.
   *
   * @throws InvalidArgumentError for no transforms, or other probabilities
   */
  constructor(transforms: readonly (MixUp | CutMix)[], options: { p?: readonly number[] } = {}) {
    const who = 'RandomChoice';
    requireOptions(who, options, { p: true });
    if (transforms.length === 0)
      throw new InvalidArgumentError(
        `${who}: expected at least one transform, got none. Pass MixUp or CutMix.`,
      );
    const { p = transforms.map(() => 1 / transforms.length) } = options;
    const sum = p.reduce((result, share) => result + probability(share, who), 0);
    if (p.length !== transforms.length || Math.abs(sum - 1) > 1e-6)
      throw new InvalidArgumentError(
        `${who}: expected p of ${transforms.length} probabilities with the sum 1, got ${shown(p)}.`,
      );
    this.transforms = [...transforms];
    this.p = [...p];
  }
}

function above0(alpha: number, who: string): number {
  if (alpha > 0 && alpha < Infinity) return alpha;
  throw new InvalidArgumentError(`${who}: alpha must be a number above 0, got ${alpha}.`);
}
