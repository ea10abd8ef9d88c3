import { join } from 'node:path';
import { givenLocation, InvalidArgumentError, pathProblem } from '@ringrun/core';
import type { OptionNames, Output } from '@ringrun/core';
import { userCache } from '@ringrun/native';
import { StorageError, openStorage } from '../../storage/index.ts';
import { isBucket } from '../../storage/open-storage.ts';
import type { Storage } from '../../storage/index.ts';
import { DownloadError, downloadFiles } from './download.ts';
import type { RemoteFile } from './download.ts';
import { InvalidDataError } from './invalid-data-error.ts';
import { isArchive } from './is-archive.ts';
import { onePerHost } from './one-per-host.ts';
import { downloadProgressOn } from './download-progress.ts';

/** Options of {@link prepareMnist} and {@link prepareCifar10}. */
export interface PrepareOptions {
  /** A folder, a mounted volume or `s3://bucket/prefix` that has the data (`--data`). Default: a cached or downloaded copy. */
  location?: string | URL | undefined;
  /** Generate synthetic data of the same format instead of downloading the real data (`--synthetic`). Default: false. */
  synthetic?: boolean | undefined;
  /** Milliseconds without a byte after which the next mirror is tried. Default: 5,000. */
  timeoutMs?: number;
  /** Stream that shows the progress of downloads. Default: standard error. */
  output?: Output;
  /** Source of `XDG_CACHE_HOME`, `RINGRUN_…_MIRRORS` and `LOCAL_RANK`. Default: `process.env`. */
  environment?: NodeJS.ProcessEnv;
}

export const prepareOptions: OptionNames<PrepareOptions> = {
  location: true,
  synthetic: true,
  timeoutMs: true,
  output: true,
  environment: true,
};

/** Location and origin of a data set, returned by {@link prepareMnist} and {@link prepareCifar10}. */
export interface PreparedData {
  /** A folder or bucket with the data. */
  location: string;
  /** Origin of the data: the option `location`, a download in the cache, or a generator. */
  kind: 'given' | 'downloaded' | 'synthetic';
  /**
   * Name of the data, to print next to a result: `MNIST`, `synthetic digits, not MNIST`, or the given
   * location.
   */
  title: string;
}

/** A data set on mirrors that also has a generator of synthetic data in the same format. */
export interface DownloadableDataset {
  /** Its name in errors. */
  title: string;
  /** Its folder in the cache. */
  folder: string;
  /** Name of the synthetic data in errors. */
  syntheticTitle: string;
  /** Its folder in the cache. Changes with the generator, so that older data in a cache is not reused. */
  syntheticFolder: string;
  /** Environment variable with other mirrors. */
  mirrorsVariable: string;
  /** Base URLs. */
  mirrors: readonly string[];
  files: readonly RemoteFile[];
  /** Returns the parts that `storage` lacks, such as `no train-images-idx3-ubyte`; empty if it is complete. */
  lacks: (storage: Storage) => Promise<string[]>;
  /** Description of the required files. */
  contents: string;
  /** Generates the synthetic files and their names, one at a time. */
  generate: () => Iterable<[name: string, bytes: Uint8Array]>;
}

/**
 * Ensures that the data is on this host and returns its location: see `prepareMnist`. In an initialized
 * group, every rank calls it. One rank per host fills the cache while the others wait. If one rank fails, all
 * ranks throw.
 */
export async function prepare(dataset: DownloadableDataset, options: PrepareOptions): Promise<PreparedData> {
  const { synthetic = false, environment = process.env } = options;
  const { title } = dataset;
  if (options.location !== undefined) {
    const location = givenLocation(options.location, `${title}: location`);
    requireOneSource(dataset, location, synthetic);
    await onePerHost({ title, act: () => requireAll(dataset, location), isActor: true });
    return { location, kind: 'given', title: location };
  }
  const cache = join(cacheOfUser(title, environment), 'ringrun');
  const folder = join(cache, synthetic ? dataset.syntheticFolder : dataset.folder);
  const fill = () => (synthetic ? generateInto(dataset, folder) : downloadInto(dataset, folder, options));
  await onePerHost({ title, act: fill, environment });
  if ((await dataset.lacks(openStorage(folder))).length > 0) throw notInCache(dataset, cache);
  return synthetic
    ? { location: folder, kind: 'synthetic', title: `${dataset.syntheticTitle}, not ${title}` }
    : { location: folder, kind: 'downloaded', title };
}

function cacheOfUser(title: string, environment: NodeJS.ProcessEnv): string {
  try {
    return userCache(environment);
  } catch (error) {
    const cure =
      'Set XDG_CACHE_HOME to a writable folder, or pass a folder that has the data (--data, `location`)';
    throw new InvalidDataError(
      title,
      'this user has no folder for caches: no XDG_CACHE_HOME, HOME or home directory',
      cure,
      { cause: error },
    );
  }
}

function requireOneSource({ title }: DownloadableDataset, location: string, synthetic: boolean): void {
  if (!synthetic) return;
  throw new InvalidArgumentError(
    `${title}: got the location ${location} (--data) and synthetic: true (--synthetic). Choose one of them.`,
  );
}

/** Written and deleted again to check that the cache is writable. */
const probe = 'writable';

async function downloadInto(
  dataset: DownloadableDataset,
  folder: string,
  { timeoutMs = 5000, output = process.stderr, environment = process.env }: PrepareOptions,
): Promise<void> {
  const { title, files } = dataset;
  const storage = openStorage(folder);
  if ((await dataset.lacks(storage)).length === 0) return;
  const mirrors = mirrorsOf(dataset, environment);
  // Check before downloading a large file.
  await writeToCache(storage, probe, new Uint8Array(0));
  await storage.delete(probe);
  const there = (await storage.list()).map(({ name }) => name);
  const missing = files.filter(({ name }) => !there.includes(name));
  const progress = downloadProgressOn(output, title);
  try {
    for await (const { file, bytes } of downloadFiles(missing, { mirrors, timeoutMs, progress }))
      await writeToCache(storage, file.name, bytes);
  } catch (error) {
    throw error instanceof DownloadError ? withRemedy(dataset, error) : error;
  }
}

/** Adds a remedy for hosts without a network to the error. */
function withRemedy(
  { title, contents, syntheticTitle }: DownloadableDataset,
  error: DownloadError,
): DownloadError {
  return new DownloadError(
    `${title} could not be downloaded: ${error.message}. Pass a folder or s3://bucket/prefix that has ${contents} (--data, \`location\`), ` +
      `or train on ${syntheticTitle} instead (--synthetic, \`synthetic: true\`).`,
    { cause: error },
  );
}

async function generateInto(dataset: DownloadableDataset, folder: string): Promise<void> {
  const storage = openStorage(folder);
  if ((await dataset.lacks(storage)).length === 0) return;
  for (const [name, bytes] of dataset.generate()) await writeToCache(storage, name, bytes);
}

function notInCache({ title }: DownloadableDataset, cache: string): InvalidDataError {
  const cure =
    'LOCAL_RANK 0 of each host fills it: start all ranks of a host with the same HOME and XDG_CACHE_HOME';
  return new InvalidDataError(cache, `the cache of this host has no ${title}`, cure);
}

function mirrorsOf(
  { mirrorsVariable, mirrors }: DownloadableDataset,
  environment: NodeJS.ProcessEnv,
): readonly string[] {
  const given = environment[mirrorsVariable];
  if (given === undefined) return mirrors;
  const urls = given
    .split(',')
    .map((mirror) => mirror.trim())
    .filter((mirror) => mirror !== '');
  const odd = urls.find((mirror) => !/^https?:\/\//.test(mirror) || !URL.canParse(mirror));
  if (odd === undefined) return urls;
  const cure = 'Give base URLs such as https://example.org/data/, with commas between them';
  throw new InvalidDataError(mirrorsVariable, `'${odd}' is not an http or https URL`, cure);
}

async function requireAll({ lacks, contents, title }: DownloadableDataset, location: string): Promise<void> {
  const missing = await lacks(openStorage(location));
  if (missing.length === 0) return;
  const cure = `Pass --data with a folder or s3://bucket/prefix that has ${contents}, or omit it to download ${title}`;
  const problem = isBucket(location)
    ? undefined
    : pathProblem(location, isArchive(location) ? 'file' : 'folder');
  throw new InvalidDataError(
    location,
    `it has ${missing.join(', ')}${problem === undefined ? '' : `, because it ${problem}`}`,
    cure,
  );
}

async function writeToCache(storage: Storage, name: string, bytes: Uint8Array): Promise<void> {
  try {
    await storage.write(name, bytes);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const cure = 'Set XDG_CACHE_HOME to a folder that can be written, or pass --data DIR';
    throw new InvalidDataError(
      storage.location,
      `the cache cannot be written (${error.message.replace(/\.$/, '')})`,
      cure,
      {
        cause: error,
      },
    );
  }
}
