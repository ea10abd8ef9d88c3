import type { BatchMemory, DataPass, Dataset, WorkerDataset } from '../dataset.ts';
import { Random, mixed } from '../random.ts';
import { Pipeline } from '../transforms/pipeline.ts';
import type { ImageShape } from '../transforms/pipeline.ts';
import type { Compose, Transform } from '../transforms/transforms.ts';

/** An image and its class, as input of a CNN. */
export interface ImageSample {
  /** The transformed image. */
  image: {
    /** Pixel values, channel by channel and row by row. */
    data: Float32Array;
    /** [channels, height, width]. */
    shape: readonly number[];
  };
  /** The class, from 0n. A bigint, because losses expect int64 targets. */
  label: bigint;
}

/** The parameters of an image dataset: plain data that worker threads share. */
export interface ImageDatasetParts {
  /** Name of the data set in errors, such as `MNIST`. */
  title: string;
  /** The bytes of all images, each channel by channel and row by row. */
  pixels: Uint8Array;
  /** One byte per image. */
  labels: Uint8Array;
  /** Shape of every image in `pixels`. */
  shape: ImageShape;
  /** Transforms that each access applies, in this order; one of them is a `ToTensor`. */
  transforms: readonly Transform[];
}

/**
 * Images that are kept in memory as bytes and transformed on access.
 *
 * Random transforms depend only on seed, epoch and index, so an image is the same on any rank or worker, and
 * after resuming.
 */
export class ImageDataset implements Dataset<ImageSample> {
  readonly length: number;
  readonly #parts: ImageDatasetParts;
  readonly #pipeline: Pipeline;
  readonly #valuesPerImage: number;

  /** @throws InvalidArgumentError if the transforms do not fit each other or the images */
  constructor(parts: ImageDatasetParts) {
    this.#parts = parts;
    this.#pipeline = new Pipeline(parts.transforms, parts.shape);
    this.#valuesPerImage = product(this.#pipeline.shape);
    this.length = parts.labels.length;
  }

  /** Returns the sample at `index`, in its own memory. Throws a `RangeError` if `index` is out of range. */
  at(index: number, pass?: DataPass): ImageSample {
    return this.batch([index], pass)[0];
  }

  /**
   * Returns several samples, whose images share one array: one array per image would load the garbage
   * collector.
   */
  batch(
    indices: readonly number[],
    { seed, epoch }: DataPass = { seed: 0, epoch: 0 },
    memory?: BatchMemory,
  ): ImageSample[] {
    const { pixels, labels, title } = this.#parts;
    const size = this.#valuesPerImage;
    const values = indices.length * size;
    const wanted = indices.map((index) => {
      if (!(index in labels))
        throw new RangeError(`${title}: expected an index from 0 to ${this.length - 1}, got ${index}.`);
      return { index, random: new Random(mixed(seed, epoch, index)) };
    });
    const images = memory?.array('Float32Array', values) ?? new Float32Array(values);
    this.#pipeline.run(pixels, wanted, images);
    return indices.map((index, position) => {
      const data = images.subarray(position * size, (position + 1) * size);
      return { image: { data, shape: this.#pipeline.shape }, label: BigInt(labels[index]) };
    });
  }

  /** The bytes are shared, not copied. */
  forWorkers(): WorkerDataset {
    return { module: import.meta.url, args: [this.#parts] };
  }
}

/** Called by worker threads. */
export function createDataset(parts: ImageDatasetParts): ImageDataset {
  return new ImageDataset(parts);
}

/** Bytes shared by the threads of this process. */
export function sharedBytes(length: number): Uint8Array<SharedArrayBuffer> {
  return new Uint8Array(new SharedArrayBuffer(length));
}

/** The user's transforms, or the data set's defaults. */
export function transformsOf(transform: Compose | undefined, usual: Compose): readonly Transform[] {
  return (transform ?? usual).transforms;
}

function product(factors: readonly number[]): number {
  return factors.reduce((result, factor) => result * factor, 1);
}
