import { InvalidArgumentError } from '@ringrun/core';
import type { BatchMemory } from '../../dataset.ts';
import { Random } from '../../random.ts';
import { Pipeline } from '../../transforms/pipeline.ts';
import type { ImageShape } from '../../transforms/pipeline.ts';
import { elementsOf } from '../../transforms/stages/stage.ts';
import type { Transform } from '../../transforms/transforms.ts';

/** An image and the class of each of its pixels, as input of a segmentation. */
export interface SegmentationSample {
  /** The transformed image. */
  image: {
    /** Pixel values, channel by channel and row by row. */
    data: Float32Array;
    /** [channels, height, width]. */
    shape: readonly number[];
  };
  /** The transformed mask. */
  mask: {
    /** Classes, row by row. int64, because losses expect it of targets. */
    data: BigInt64Array;
    /** [height, width]. */
    shape: readonly number[];
  };
}

/** An image and its mask as bytes, and what their random numbers depend on. */
export interface WantedPair {
  /** Position of both in their arrays. */
  index: number;
  /** Seed of the random numbers, equal for both. */
  seed: number;
}

/** Transforms images and their masks in the same way. */
export class JointPipeline {
  readonly #images: Pipeline;
  readonly #masks: Pipeline;

  /** @throws InvalidArgumentError if the transforms do not fit each other or the images */
  constructor(transforms: readonly Transform[], shape: ImageShape, fill: number) {
    this.#images = new Pipeline(transforms, shape);
    this.#masks = new Pipeline(transforms, [1, shape[1], shape[2]], { fill });
  }

  /** Shape of the transformed images. */
  get shape(): ImageShape {
    return this.#images.shape;
  }

  /** The samples, whose images and masks share one array each. */
  run(
    pixels: Uint8Array,
    masks: Uint8Array,
    wanted: readonly WantedPair[],
    memory: BatchMemory | undefined,
  ): SegmentationSample[] {
    const { shape } = this.#images;
    const [, height, width] = shape;
    const [size, area] = [elementsOf(shape), height * width];
    const [values, classes] = [size * wanted.length, area * wanted.length];
    const images = memory?.array('Float32Array', values) ?? new Float32Array(values);
    const targets = memory?.array('BigInt64Array', classes) ?? new BigInt64Array(classes);
    const moved = new Float32Array(classes);
    const randoms = () => wanted.map(({ index, seed }) => ({ index, random: new Random(seed) }));
    this.#images.run(pixels, randoms(), images);
    this.#masks.run(masks, randoms(), moved);
    // The low and high words: a bigint of each pixel would be an object.
    const words = new Uint32Array(targets.buffer, targets.byteOffset, 2 * classes);
    for (let i = 0; i < classes; i += 1) {
      words[2 * i] = moved[i];
      words[2 * i + 1] = 0;
    }
    return wanted.map((_, position) => ({
      image: { data: images.subarray(position * size, (position + 1) * size), shape },
      mask: { data: targets.subarray(position * area, (position + 1) * area), shape: [height, width] },
    }));
  }
}

/** @throws InvalidArgumentError for a class that a byte does not hold */
export function requireMaskFill(who: string, fill: number): number {
  if (Number.isInteger(fill) && fill >= 0 && fill <= 255) return fill;
  throw new InvalidArgumentError(`${who}: maskFill: expected a class from 0 to 255, got ${fill}.`);
}
