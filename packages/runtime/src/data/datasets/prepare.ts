import { homedir } from 'node:os';
import { join } from 'node:path';
import type { OptionNames } from '@ringrun/collectives/require-options';
import { StorageError, openStorage } from '../../storage/index.ts';
import type { Storage } from '../../storage/index.ts';
import { DownloadError, downloadFiles } from './download.ts';
import type { RemoteFile } from './download.ts';
import { InvalidDataError } from './invalid-data-error.ts';
import { onePerHost } from './one-per-host.ts';
import { progressOn } from './progress.ts';
import type { Output } from './progress.ts';

export interface PrepareOptions {
  /** A folder, a mounted volume or `s3://bucket/prefix` that has the data (`--data`); unless given, a cached or downloaded copy is used. */
  location?: string | undefined;
  /** Milliseconds that a mirror may send nothing until the next one is tried; 5,000 unless given. */
  patienceMs?: number;
  /** Where progress is shown; standard error unless given. */
  output?: Output;
  /** `XDG_CACHE_HOME`, `RINGRUN_…_MIRRORS`, `LOCAL_RANK`; those of the process unless given. */
  environment?: NodeJS.ProcessEnv;
}

export const prepareOptions: OptionNames<PrepareOptions> = {
  location: true,
  patienceMs: true,
  output: true,
  environment: true,
};

export interface PreparedData {
  /** A folder or bucket that has the data. */
  location: string;
  /** The place that was asked for, a download out of the cache, or what was drawn because there was none. */
  kind: 'given' | 'downloaded' | 'drawn';
}

/** A data set that mirrors have, and that can be drawn. */
export interface DataSet {
  /** Its name in messages. */
  title: string;
  /** Its folder in the cache. */
  folder: string;
  /** What is drawn, for messages. */
  drawings: string;
  /** The drawn one's folder; changes when the drawings do, so that old ones in a cache are not taken for new ones. */
  drawnFolder: string;
  /** Variable of the environment with other mirrors. */
  mirrorsVariable: string;
  /** Base URLs. */
  mirrors: readonly string[];
  files: readonly RemoteFile[];
  /** What `storage` lacks of the data, in words such as `no train-images-idx3-ubyte`; nothing when it is complete. */
  lacks: (storage: Storage) => Promise<string[]>;
  /** What must be there, in words. */
  contents: string;
  /** The drawn files, under their names, one after the other. */
  draw: () => Iterable<[name: string, bytes: Uint8Array]>;
}

/**
 * Sees to it that the data is on this host, and says where: see `prepareMnist`. In an initialised group every rank calls it; one rank of each host fills the
 * cache while the others wait, and when one rank fails, all do.
 */
export async function prepare(dataSet: DataSet, options: PrepareOptions): Promise<PreparedData> {
  const { location, environment = process.env } = options;
  if (location !== undefined) {
    await onePerHost({ title: dataSet.title, act: () => requireAll(dataSet, location), isActor: true });
    return { location, kind: 'given' };
  }
  const cache = join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'ringrun');
  const fill = () => fillCache(dataSet, cache, options);
  await onePerHost({ title: dataSet.title, act: fill, environment });
  return await findInCache(dataSet, cache);
}

/** Written and deleted again, to see that the cache can be written. */
const probe = 'writable';

async function fillCache(dataSet: DataSet, cache: string, options: PrepareOptions): Promise<void> {
  const { patienceMs = 5000, output = process.stderr, environment = process.env } = options;
  const { title, files } = dataSet;
  const storage = openStorage(join(cache, dataSet.folder));
  if ((await dataSet.lacks(storage)).length === 0) return;
  // Before something large is downloaded for nothing.
  await writeToCache(storage, probe, new Uint8Array(0));
  await storage.delete(probe);
  const there = (await storage.list()).map(({ name }) => name);
  const missing = files.filter(({ name }) => !there.includes(name));
  const mirrors = mirrorsOf(dataSet, environment);
  try {
    const progress = progressOn(output, title);
    for await (const { file, bytes } of downloadFiles(missing, { mirrors, patienceMs, progress }))
      await writeToCache(storage, file.name, bytes);
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error;
    output.write(
      `${title}: it could not be downloaded (${error.message}); ${dataSet.drawings} take its place, and --data DIR reads the real ones.\n`,
    );
    await drawInto(dataSet, join(cache, dataSet.drawnFolder));
  }
}

async function findInCache(dataSet: DataSet, cache: string): Promise<PreparedData> {
  const kinds = [
    ['downloaded', dataSet.folder],
    ['drawn', dataSet.drawnFolder],
  ] as const;
  for (const [kind, folder] of kinds) {
    const location = join(cache, folder);
    if ((await dataSet.lacks(openStorage(location))).length === 0) return { location, kind };
  }
  const cure =
    'LOCAL_RANK 0 of each host fills it: start all ranks of a host with the same HOME and XDG_CACHE_HOME';
  throw new InvalidDataError(cache, `this host's cache has no ${dataSet.title}`, cure);
}

async function drawInto(dataSet: DataSet, folder: string): Promise<void> {
  const storage = openStorage(folder);
  if ((await dataSet.lacks(storage)).length === 0) return;
  for (const [name, bytes] of dataSet.draw()) await writeToCache(storage, name, bytes);
}

function mirrorsOf({ mirrorsVariable, mirrors }: DataSet, environment: NodeJS.ProcessEnv): readonly string[] {
  const given = environment[mirrorsVariable];
  if (given === undefined) return mirrors;
  const urls = given
    .split(',')
    .map((mirror) => mirror.trim())
    .filter((mirror) => mirror !== '');
  const odd = urls.find((mirror) => !/^https?:\/\//.test(mirror) || !URL.canParse(mirror));
  if (odd === undefined) return urls;
  const cure = 'Give base URLs such as https://example.org/data/, with commas between them';
  throw new InvalidDataError(mirrorsVariable, `'${odd}' is no http or https URL`, cure);
}

async function requireAll({ lacks, contents, title }: DataSet, location: string): Promise<void> {
  const missing = await lacks(openStorage(location));
  if (missing.length === 0) return;
  const cure = `Give --data a folder or s3://bucket/prefix with ${contents}, or leave it out to download ${title}`;
  throw new InvalidDataError(location, `it has ${missing.join(', ')}`, cure);
}

async function writeToCache(storage: Storage, name: string, bytes: Uint8Array): Promise<void> {
  try {
    await storage.write(name, bytes);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const cure = 'Set XDG_CACHE_HOME to a folder that can be written, or give --data DIR';
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
