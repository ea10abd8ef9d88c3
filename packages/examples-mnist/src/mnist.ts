import { readFileSync } from 'node:fs';
import type { Dataset } from 'ringrun';
import { InvalidDataError } from './errors.ts';
import { findMnistFile, mnistFiles } from './files.ts';
import type { MnistFile, Split } from './files.ts';
import { parseIdx } from './idx.ts';
import type { IdxArray } from './idx.ts';

/** A digit, as the CNN takes it. */
export interface MnistSample {
  image: {
    /** 784 values, normalised by the mean and the standard deviation of MNIST's training images. */
    data: Float32Array;
    /** One channel of 28 rows and 28 columns: [1, 28, 28]. */
    shape: readonly number[];
  };
  /** Which digit it is, 0n to 9n: a bigint, because a loss takes its targets as int64. */
  label: bigint;
}

const side = 28;
const pixelsPerImage = side * side;
const imageShape: readonly number[] = [1, side, side];
const classes = 10;

const mean = 0.1307;
const standardDeviation = 0.3081;
/** For each byte of an image, the value that the model sees. */
const normalised = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255 - mean) / standardDeviation);

/** Images and labels of one split, kept in memory as the bytes they are in the files. */
export class MnistDataset implements Dataset<MnistSample> {
  readonly length: number;
  readonly #pixels: Uint8Array;
  readonly #labels: Uint8Array;

  /** `pixels`: `length` images of 784 bytes. `labels`: `length` bytes from 0 to 9. */
  constructor(pixels: Uint8Array, labels: Uint8Array) {
    this.length = labels.length;
    this.#pixels = pixels;
    this.#labels = labels;
  }

  /** The sample at `index`, in memory of its own. `RangeError` outside of 0 to `length` - 1. */
  at(index: number): MnistSample {
    return this.atAll([index])[0];
  }

  /** Several samples, whose images lie in one array: an array for each would keep the garbage collector busy. */
  atAll(indices: readonly number[]): MnistSample[] {
    const images = new Float32Array(indices.length * pixelsPerImage);
    return indices.map((index, position) => {
      if (!(index in this.#labels))
        throw new RangeError(`MNIST has no sample ${index}: there are ${this.length}.`);
      const data = images.subarray(position * pixelsPerImage, (position + 1) * pixelsPerImage);
      const start = index * pixelsPerImage;
      for (let pixel = 0; pixel < pixelsPerImage; pixel++)
        data[pixel] = normalised[this.#pixels[start + pixel]];
      return { image: { data, shape: imageShape }, label: BigInt(this.#labels[index]) };
    });
  }
}

/**
 * Reads one split of MNIST from a folder that has its original files, gzip'd or not.
 *
 * Throws `InvalidDataError`, which names the file, when one is missing, corrupt, or does not fit the other.
 */
export function loadMnist({ split, directory }: { split: Split; directory: string }): MnistDataset {
  const images = readIdx(directory, mnistFiles[split].images, 3);
  const labels = readIdx(directory, mnistFiles[split].labels, 1);
  requireImages(images);
  requireDigits(labels);
  requireSameCount(images, labels);
  return new MnistDataset(images.data, labels.data);
}

interface IdxFile extends IdxArray {
  path: string;
}

function readIdx(directory: string, file: MnistFile, dimensions: number): IdxFile {
  const path = findMnistFile(directory, file);
  if (path === undefined)
    throw new InvalidDataError(directory, `it has no ${file.name}, nor ${file.name}.gz`, 'Put it there');
  return { path, ...parseIdx(readFileSync(path), path, dimensions) };
}

function requireImages({ path, shape: [count, rows, columns] }: IdxFile): void {
  if (count > 0 && rows === side && columns === side) return;
  const found = `it has ${count} images of ${rows} x ${columns}, not at least 1 of ${side} x ${side}`;
  throw new InvalidDataError(path, found, 'This model takes MNIST images only');
}

function requireDigits({ path, data }: IdxFile): void {
  const index = data.findIndex((label) => label >= classes);
  if (index < 0) return;
  const found = `label ${index} is ${data[index]}, not a digit from 0 to ${classes - 1}`;
  throw new InvalidDataError(path, found, "Replace it by MNIST's original");
}

function requireSameCount(images: IdxFile, labels: IdxFile): void {
  if (images.shape[0] === labels.shape[0]) return;
  const found = `it has ${labels.shape[0]} labels for the ${images.shape[0]} images of ${images.path}`;
  throw new InvalidDataError(labels.path, found, 'Take both files from the same data set');
}
