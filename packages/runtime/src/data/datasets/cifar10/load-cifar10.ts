import { givenLocation, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { openStorage } from '../../../storage/index.ts';
import type { Storage } from '../../../storage/index.ts';
import { Compose, Normalize, ToTensor } from '../../transforms/index.ts';
import { ImageDataset, sharedBytes, transformsOf } from '../image-dataset.ts';
import { InvalidDataError } from '../invalid-data-error.ts';
import { readArchive } from './archive.ts';
import type { Member } from './archive.ts';
import { countOf, imageShape, pixelsPerImage, readBatch } from './batch.ts';
import { baseName, batchNames } from './files.ts';
import type { Split } from './files.ts';
import { findCifar10, splitLocation } from './find-cifar10.ts';

/** Options of {@link loadCifar10}. */
export interface LoadCifar10Options {
  /** Training images (50,000 in the original) or test images (10,000). */
  split: Split;
  /**
   * The location from `prepareCifar10`, or a folder or `s3://bucket/prefix` with the archive
   * (`cifar-10-binary*.tar.gz`) or its files, optionally in `cifar-10-batches-bin/`; or the path of the
   * archive.
   */
  location: string | URL;
  /**
   * Transforms of each image. Default: `ToTensor` and `Normalize` with the means and standard deviations of
   * CIFAR-10's training images.
   */
  transform?: Compose;
}

const optionNames: OptionNames<LoadCifar10Options> = { split: true, location: true, transform: true };

/** Means of CIFAR-10's training images by channel (red, green, blue), of pixels from 0 to 1. */
export const cifar10Mean: readonly number[] = [0.4914, 0.4822, 0.4465];
/** Standard deviations of CIFAR-10's training images by channel (red, green, blue), of pixels from 0 to 1. */
export const cifar10Std: readonly number[] = [0.247, 0.2435, 0.2616];

/** Batch files of the training images. */
const trainBatches = 5;

const usual = new Compose([new ToTensor(), new Normalize(cifar10Mean, cifar10Std)]);

/**
 * Reads one split of CIFAR-10 in its binary version (torchvision.datasets.CIFAR10): samples `{ image: { data,
 * shape: [3, 32, 32] }, label }`, kept in memory as bytes. The training images are those of all
 * `data_batch_*.bin`, in the order of their numbers.
 *
 * Any archive with this structure is accepted. Rejects with an `InvalidDataError` that names file and member
 * if it is missing, corrupt, truncated or of a wrong size, and with a `StorageError` if it cannot be read.
 */
export async function loadCifar10(options: LoadCifar10Options): Promise<ImageDataset> {
  requireOptions('loadCifar10', options, optionNames);
  const { split, transform } = options;
  const location = givenLocation(options.location, 'loadCifar10');
  const batches = await readBatches(location, split);
  const counts = batches.map(({ name, bytes }) => countOf(bytes.length, name));
  const count = counts.reduce((sum, ofBatch) => sum + ofBatch, 0);
  const labels = sharedBytes(count);
  const pixels = sharedBytes(count * pixelsPerImage);
  let first = 0;
  for (const [index, { name, bytes }] of batches.entries()) {
    readBatch(bytes, name, { labels, pixels, first });
    first += counts[index];
  }
  const transforms = transformsOf(transform, usual);
  return new ImageDataset({ title: 'CIFAR-10', pixels, labels, shape: imageShape, transforms });
}

/** The split's batch files with their paths, in the order of their numbers. */
async function readBatches(location: string, split: Split): Promise<Member[]> {
  const storage = openStorage(splitLocation(location).folder);
  const found = await findCifar10(location);
  const batches =
    found.archive === undefined
      ? await readFiles(storage, found[split])
      : await readMembers(storage, found.archive, split);
  if (batches.length > 0) {
    batches.sort((a, b) => numberIn(a.name) - numberIn(b.name));
    if (split === 'train') reportMissing(batches);
    return batches;
  }
  const wanted = split === 'train' ? 'data_batch_*.bin' : 'test_batch.bin';
  const searched = found.archive === undefined ? storage.location : `${storage.location}/${found.archive}`;
  throw new InvalidDataError(searched, `it has no ${wanted}`, 'Put the binary version of CIFAR-10 there');
}

/** Fewer batches are either a smaller data set or an interrupted copy: rank 0 prints the missing ones. */
function reportMissing(batches: readonly Member[]): void {
  const found = new Set(batches.map(({ name }) => numberIn(name)));
  const missing = Array.from({ length: trainBatches }, (_, i) => i + 1).filter(
    (number) => !found.has(number),
  );
  if (missing.length === 0 || Number(process.env['RANK'] ?? 0) > 0) return;
  const folder = batches[0].name.slice(0, -baseName(batches[0].name).length);
  const files = missing.map((number) => `data_batch_${number}.bin`).join(', ');
  process.stderr.write(
    `ringrun: ${folder}: read ${trainBatches - missing.length} of the ${trainBatches} training batches of CIFAR-10, without ${files}\n`,
  );
}

async function readFiles(storage: Storage, names: readonly string[]): Promise<Member[]> {
  const members: Member[] = [];
  for (const name of names)
    members.push({ name: `${storage.location}/${name}`, bytes: await storage.read(name) });
  return members;
}

async function readMembers(storage: Storage, archive: string, split: Split): Promise<Member[]> {
  const file = `${storage.location}/${archive}`;
  const isWanted = (name: string) => batchNames[split].test(baseName(name));
  const members = await readArchive(await storage.read(archive), file, isWanted);
  return members.map(({ name, bytes }) => ({ name: `${file}: ${name}`, bytes }));
}

function numberIn(name: string): number {
  return Number(/(\d+)\.bin$/.exec(name)?.[1] ?? 0);
}
