import { givenLocation, requireOptions } from '@ringrun/core';
import type { BatchMemory, DataPass, Dataset, WorkerDataset } from '../../dataset.ts';
import { ImageDecoder } from '../../images/image-decoder.ts';
import { Compose, ToTensor } from '../../transforms/transforms.ts';
import type { Transform } from '../../transforms/transforms.ts';
import type { ImageSample } from '../image-dataset.ts';
import { ObjectDataset } from './object-dataset.ts';
import { scanImageFolder } from './scan-image-folder.ts';

/** Options of {@link loadImageFolder}. */
export interface LoadImageFolderOptions {
  /** Transforms, of which one is a `ToTensor`. Default: only `ToTensor`. */
  transform?: Compose;
}

/** The parameters of an image folder: plain data that worker threads receive. */
export interface ImageFolderParts {
  /** A folder, or `s3://bucket/prefix`. */
  location: string;
  /** Names of the classes. */
  classes: readonly string[];
  /** Names of the images, relative to the location. */
  names: readonly string[];
  /** Class of each image. */
  labels: readonly number[];
  /** Transforms that each access applies, in this order. */
  transforms: readonly Transform[];
}

/**
 * Images in one folder for each class (torchvision.datasets.ImageFolder). Images are read and decoded when they are
 * accessed, as RGB. Random transforms depend only on seed, epoch and index.
 */
export class ImageFolder implements Dataset<ImageSample> {
  /** Names of the classes, sorted. The class of a sample is an index of it. */
  readonly classes: readonly string[];
  /** The class of each name. */
  readonly classToIdx: Readonly<Record<string, number>>;
  readonly #parts: ImageFolderParts;
  readonly #files: ObjectDataset;
  readonly #decoder: ImageDecoder;

  /** Use {@link loadImageFolder}, which finds the images. Throws InvalidArgumentError if the transforms do not fit. */
  constructor(parts: ImageFolderParts) {
    this.#parts = parts;
    this.classes = parts.classes;
    this.classToIdx = Object.fromEntries(parts.classes.map((name, index) => [name, index]));
    this.#files = new ObjectDataset(parts.location, parts.names);
    this.#decoder = new ImageDecoder(parts.transforms);
  }

  /** Number of images. */
  get length(): number {
    return this.#files.length;
  }

  /** Path of each image, relative to the folder, and its class (torchvision's `samples`). */
  get samples(): readonly (readonly [path: string, label: number])[] {
    return this.#parts.names.map((name, index) => [name, this.#parts.labels[index]]);
  }

  /** Reads and decodes one image. Rejects as `batch` does. */
  async at(index: number, pass?: DataPass): Promise<ImageSample> {
    return (await this.batch([index], pass))[0];
  }

  /**
   * Reads and decodes several images at the same time, which share one array. Rejects with `RangeError` if an index is
   * out of range, `StorageError` if a file cannot be read, and `InvalidDataError` with its name if it cannot be decoded.
   */
  async batch(
    indices: readonly number[],
    pass: DataPass = { seed: 0, epoch: 0 },
    memory?: BatchMemory,
  ): Promise<ImageSample[]> {
    const { location, labels } = this.#parts;
    const files = await Promise.all(
      indices.map(async (index) => {
        const { name, bytes } = await this.#files.at(index);
        return { name: `${location}/${name}`, bytes, label: BigInt(labels[index]), identity: [index] };
      }),
    );
    return await this.#decoder.decode(files, pass, memory);
  }

  /** Worker threads receive the names, and do not list them again. */
  forWorkers(): WorkerDataset {
    return { module: import.meta.url, args: [this.#parts] };
  }
}

/** Called by worker threads. */
export function createDataset(parts: ImageFolderParts): ImageFolder {
  return new ImageFolder(parts);
}

/**
 * Finds the images of a dataset in folders `location/<class>/…/<name>.png` (torchvision.datasets.ImageFolder), or
 * `.jpg`, `.jpeg`, `.webp`, `.tif`, `.tiff`, `.bmp`, `.pgm`, `.ppm`. Classes are numbered in the order of their names,
 * and images in the order of class, folder and name. Links to files and folders are followed. Hidden folders and other
 * files are skipped, and rank 0 prints a line about them. Decoding needs the package sharp.
 *
 * @param location a folder's path or `file:` URL, or `s3://bucket/prefix`
 * @throws InvalidDataError if the folder or the folders of the classes are missing, or if one of them has no images;
 * StorageError if they cannot be listed; InvalidArgumentError if the transforms do not fit each other
 */
export async function loadImageFolder(
  location: string | URL,
  options: LoadImageFolderOptions = {},
): Promise<ImageFolder> {
  requireOptions('loadImageFolder', options, { transform: true });
  const { transform = new Compose([new ToTensor()]) } = options;
  const path = givenLocation(location, 'loadImageFolder');
  const { skipped, ...found } = await scanImageFolder(path);
  if (skipped.length > 0 && Number(process.env['RANK'] ?? 0) === 0)
    process.stderr.write(`ringrun: ${path}: skipped ${skipped.join('; ')}\n`);
  return new ImageFolder({ location: path, ...found, transforms: transform.transforms });
}
