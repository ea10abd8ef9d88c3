import type { BatchMemory, DataPass, Dataset, WorkerDataset } from '../../dataset.ts';
import { mixed } from '../../random.ts';
import type { ImageShape } from '../../transforms/pipeline.ts';
import type { Transform } from '../../transforms/transforms.ts';
import { JointPipeline, requireMaskFill } from './joint-pipeline.ts';
import type { SegmentationSample } from './joint-pipeline.ts';

/** The parameters of a {@link SegmentationDataset}: plain data that worker threads share. */
export interface SegmentationParts {
  /** Name of the data set in errors. */
  title: string;
  /** The bytes of all images, each channel by channel and row by row. */
  pixels: Uint8Array;
  /** The class of each pixel of all images, from 0 to 255, row by row. */
  masks: Uint8Array;
  /** Shape of every image in `pixels`. */
  shape: ImageShape;
  /** Transforms that each access applies, in this order; one of them is a `ToTensor`. */
  transforms: readonly Transform[];
  /** Class of pixels that rotations and borders bring in, from 0 to 255. Default: 0. */
  maskFill?: number;
}

/**
 * Images and masks that are kept in memory as bytes and transformed together on access (torchvision.transforms.v2 with
 * tv_tensors.Mask): crops, flips, rotations and sizes change both in the same way, masks by the nearest pixel; colours,
 * Normalize and RandomErasing change the images only.
 *
 * Random transforms depend only on seed, epoch and index.
 */
export class SegmentationDataset implements Dataset<SegmentationSample> {
  /** Number of images. */
  readonly length: number;
  readonly #parts: SegmentationParts;
  readonly #pipeline: JointPipeline;

  /** @throws InvalidArgumentError if the transforms do not fit each other or the images, or for a `maskFill` out of range */
  constructor(parts: SegmentationParts) {
    const fill = requireMaskFill('SegmentationDataset', parts.maskFill ?? 0);
    this.#parts = parts;
    this.#pipeline = new JointPipeline(parts.transforms, parts.shape, fill);
    this.length = parts.masks.length / (parts.shape[1] * parts.shape[2]);
  }

  /** Returns the sample at `index`, in its own memory. Throws a `RangeError` if `index` is out of range. */
  at(index: number, pass?: DataPass): SegmentationSample {
    return this.batch([index], pass)[0];
  }

  /** Returns several samples, whose images and masks share one array each. */
  batch(
    indices: readonly number[],
    { seed, epoch }: DataPass = { seed: 0, epoch: 0 },
    memory?: BatchMemory,
  ): SegmentationSample[] {
    const { pixels, masks, title } = this.#parts;
    const wanted = indices.map((index) => {
      if (!Number.isInteger(index) || index < 0 || index >= this.length)
        throw new RangeError(`${title}: expected an index from 0 to ${this.length - 1}, got ${index}.`);
      return { index, seed: mixed(seed, epoch, index) };
    });
    return this.#pipeline.run(pixels, masks, wanted, memory);
  }

  /** The bytes are shared, not copied, if they are in a SharedArrayBuffer. */
  forWorkers(): WorkerDataset {
    return { module: import.meta.url, args: [this.#parts] };
  }
}

/** Called by worker threads. */
export function createDataset(parts: SegmentationParts): SegmentationDataset {
  return new SegmentationDataset(parts);
}
