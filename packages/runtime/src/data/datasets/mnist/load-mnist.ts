import { requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { StorageError, openStorage } from '../../../storage/index.ts';
import type { Storage } from '../../../storage/index.ts';
import { Compose, Normalize, ToTensor } from '../../transforms/index.ts';
import { ImageDataset, sharedBytes, transformsOf } from '../image-dataset.ts';
import { InvalidDataError } from '../invalid-data-error.ts';
import { mnistFiles } from './files.ts';
import type { MnistFile, Split } from './files.ts';
import { parseIdx } from './idx.ts';
import type { IdxArray } from './idx.ts';

/** Options of {@link loadMnist}. */
export interface LoadMnistOptions {
  /** Training images (60,000 in the original) or test images (10,000). */
  split: Split;
  /**
   * The location from `prepareMnist`: a folder or `s3://bucket/prefix` with the original files, gzipped or
   * not.
   */
  location: string | URL;
  /**
   * Transforms of each image. Default: `ToTensor` and `Normalize` with the mean and standard deviation of
   * MNIST's training images.
   */
  transform?: Compose;
}

const optionNames: OptionNames<LoadMnistOptions> = { split: true, location: true, transform: true };

const side = 28;
const classes = 10;

/** Of MNIST's training images. */
const usual = new Compose([new ToTensor(), new Normalize([0.1307], [0.3081])]);

/**
 * Reads one split of MNIST (torchvision.datasets.MNIST): samples `{ image: { data, shape: [1, 28, 28] },
 * label }`, kept in memory as bytes.
 *
 * Rejects with an `InvalidDataError` that names the file if one is missing, corrupt or does not fit the
 * other, and with a `StorageError` if one cannot be read.
 */
export async function loadMnist(options: LoadMnistOptions): Promise<ImageDataset> {
  requireOptions('loadMnist', options, optionNames);
  const { split, location, transform } = options;
  const storage = openStorage(location);
  const images = await readIdx(storage, mnistFiles[split].images, 3);
  const labels = await readIdx(storage, mnistFiles[split].labels, 1);
  requireImages(images);
  requireDigits(labels);
  requireSameCount(images, labels);
  const pixels = sharedBytes(images.data.length);
  pixels.set(images.data);
  const transforms = transformsOf(transform, usual);
  return new ImageDataset({
    title: 'MNIST',
    pixels,
    labels: labels.data,
    shape: [1, side, side],
    transforms,
  });
}

interface IdxFile extends IdxArray {
  path: string;
}

async function readIdx(storage: Storage, file: MnistFile, dimensions: number): Promise<IdxFile> {
  for (const name of [file.name, `${file.name}.gz`]) {
    const bytes = await readIfThere(storage, name);
    const path = `${storage.location}/${name}`;
    if (bytes) return { path, ...parseIdx(bytes, path, dimensions) };
  }
  throw new InvalidDataError(storage.location, `it has no ${file.name}, nor ${file.name}.gz`, 'Put it there');
}

async function readIfThere(storage: Storage, name: string): Promise<Uint8Array | undefined> {
  try {
    return await storage.read(name);
  } catch (error) {
    if (error instanceof StorageError && error.problem === 'not found') return undefined;
    throw error;
  }
}

function requireImages({ path, shape: [count, rows, columns] }: IdxFile): void {
  if (count > 0 && rows === side && columns === side) return;
  const found = `it has ${count} images of ${rows} x ${columns}, not at least 1 of ${side} x ${side}`;
  throw new InvalidDataError(path, found, "Replace it by MNIST's original");
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
