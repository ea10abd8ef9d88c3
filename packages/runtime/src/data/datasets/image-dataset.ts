import type { BatchMemory, DataPass, Dataset, WorkerDataset } from '../dataset.ts';
import { Random, mixed } from '../random.ts';
import { Pipeline } from '../transforms/pipeline.ts';
import type { ImageShape } from '../transforms/pipeline.ts';
import type { Compose, Transform } from '../transforms/transforms.ts';

/** An image and its class, as a CNN takes them. */
export interface ImageSample {
  image: {
    /** The pixels' values, channel by channel and row by row. */
    data: Float32Array;
    /** [channels, height, width]. */
    shape: readonly number[];
  };
  /** The class, from 0n: a bigint, because a loss takes its targets as int64. */
  label: bigint;
}

/** What an image dataset is made of: plain data that worker threads share. */
export interface ImageDatasetParts {
  /** Whose images they are, for messages, such as `MNIST`. */
  title: string;
  /** The images' bytes one after the other, each channel by channel and row by row. */
  pixels: Uint8Array;
  /** One byte for each image. */
  labels: Uint8Array;
  shape: ImageShape;
  transforms: readonly Transform[];
}

/**
 * Images that are kept in memory as bytes, and transformed whenever one is asked for.
 *
 * The chances of a transform follow from seed, epoch and index alone: an image is the same whichever rank or worker makes it, and whether or not the job was resumed.
 */
export class ImageDataset implements Dataset<ImageSample> {
  readonly length: number;
  readonly #parts: ImageDatasetParts;
  readonly #pipeline: Pipeline;
  readonly #valuesPerImage: number;

  /** Throws `InvalidArgumentError` for transforms that do not suit each other or the images. */
  constructor(parts: ImageDatasetParts) {
    this.#parts = parts;
    this.#pipeline = new Pipeline(parts.transforms, parts.shape);
    this.#valuesPerImage = product(this.#pipeline.shape);
    this.length = parts.labels.length;
  }

  /** The sample at `index`, in memory of its own. `RangeError` outside of 0 to `length` - 1. */
  at(index: number, pass?: DataPass): ImageSample {
    return this.atAll([index], pass)[0];
  }

  /** Several samples, whose images lie in one array: an array for each would keep the garbage collector busy. */
  atAll(
    indices: readonly number[],
    { seed, epoch }: DataPass = { seed: 0, epoch: 0 },
    memory?: BatchMemory,
  ): ImageSample[] {
    const { pixels, labels, title } = this.#parts;
    const size = this.#valuesPerImage;
    const values = indices.length * size;
    const wanted = indices.map((index) => {
      if (!(index in labels))
        throw new RangeError(`${title} has no sample ${index}: there are ${this.length}.`);
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

/** What worker threads call. */
export function createDataset(parts: ImageDatasetParts): ImageDataset {
  return new ImageDataset(parts);
}

/** Bytes that threads of this process share. */
export function sharedBytes(length: number): Uint8Array<SharedArrayBuffer> {
  return new Uint8Array(new SharedArrayBuffer(length));
}

/** The transforms that are meant: a user's, or a data set's own. */
export function transformsOf(transform: Compose | undefined, usual: Compose): readonly Transform[] {
  return (transform ?? usual).transforms;
}

function product(factors: readonly number[]): number {
  return factors.reduce((result, factor) => result * factor, 1);
}
