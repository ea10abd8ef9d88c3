import { givenLocation, pathProblem, requireOptions } from '@ringrun/core';
import { compareUtf8 } from '../../../storage/names.ts';
import { isBucket, openStorage } from '../../../storage/open-storage.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { Dataset, WorkerDataset } from '../../dataset.ts';
import { InvalidDataError } from '../invalid-data-error.ts';

/** A file or an object. */
export interface StoredFile {
  /** Its name relative to the dataset's location, with `/` between its parts. */
  name: string;
  /** Its contents. */
  bytes: Uint8Array;
}

/** Options of {@link loadObjects}. */
export interface LoadObjectsOptions {
  /** Which names to use, in the order of their UTF-8 bytes. Default: all. */
  filter?: (name: string) => boolean;
}

/**
 * The files below a folder, or the objects below a prefix of a bucket, each of which is one sample. A `DataLoader` reads
 * those of a batch at the same time, and the next batches ahead.
 */
export class ObjectDataset implements Dataset<StoredFile> {
  /** Names of the samples, relative to the location. */
  readonly names: readonly string[];
  readonly #location: string;
  readonly #storage: Storage;

  /**
   * @param location a folder's path or `file:` URL, or `s3://bucket/prefix`
   * @param names the names to use, such as those of a manifest; they are not looked up before they are read
   */
  constructor(location: string | URL, names: readonly string[]) {
    this.#location = givenLocation(location, 'ObjectDataset');
    this.#storage = openStorage(this.#location);
    this.names = names;
  }

  /** Number of names. */
  get length(): number {
    return this.names.length;
  }

  /** Reads one sample. Rejects with `RangeError` if `index` is out of range, and with `StorageError` if it fails. */
  async at(index: number): Promise<StoredFile> {
    if (!(index in this.names)) {
      throw new RangeError(
        `ObjectDataset: expected an index from 0 to ${this.length - 1}, got ${index}, for ${this.#location}.`,
      );
    }
    const name = this.names[index];
    return { name, bytes: await this.#storage.read(name) };
  }

  /** Worker threads receive the names, and do not list them again. */
  forWorkers(): WorkerDataset {
    return { module: import.meta.url, args: [this.#location, this.names] };
  }
}

/** Called by worker threads. */
export function createDataset(location: string, names: readonly string[]): ObjectDataset {
  return new ObjectDataset(location, names);
}

/**
 * Lists the files below a folder, or the objects below `s3://bucket/prefix`, as a dataset.
 *
 * @throws InvalidDataError if no files are found, StorageError if they cannot be listed
 */
export async function loadObjects(
  location: string | URL,
  options: LoadObjectsOptions = {},
): Promise<ObjectDataset> {
  requireOptions('loadObjects', options, { filter: true });
  const { filter = () => true } = options;
  const names: string[] = [];
  const place = givenLocation(location, 'loadObjects');
  for await (const { name, kind } of openStorage(place).entries())
    if (kind === 'object' && filter(name)) names.push(name);
  names.sort(compareUtf8);
  if (names.length > 0) return new ObjectDataset(place, names);
  const problem = isBucket(place) ? undefined : pathProblem(place, 'folder');
  const got = problem === undefined ? 'got none' : `but it ${problem}`;
  throw new InvalidDataError(place, `expected files, ${got}`, 'Check the location and the filter.');
}
