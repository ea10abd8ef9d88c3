import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { drawDigits } from './digits.ts';
import { DownloadError, downloadMnist } from './download.ts';
import { InvalidDataError } from './errors.ts';
import { allMnistFiles, findMnistFile, mnistFiles } from './files.ts';
import type { MnistFile } from './files.ts';
import { encodeIdx } from './idx.ts';
import { progressOn } from './progress.ts';
import type { Output } from './progress.ts';

const defaultMirrors: readonly string[] = [
  'https://ossci-datasets.s3.amazonaws.com/mnist/',
  'https://storage.googleapis.com/cvdf-datasets/mnist/',
];

/** How many digits are drawn where MNIST cannot be had: as many as it has, from seeds of their own. */
const drawnSplits = {
  train: { count: 60_000, seed: 1 },
  test: { count: 10_000, seed: 2 },
} as const;

/** Changes when the drawings do, so that old ones in a cache are not taken for new ones. */
const drawnFolder = 'drawn-digits-1';

export interface PrepareMnistOptions {
  /** A folder with MNIST's four files, gzip'd or not (`--data`); unless given, a cached or downloaded copy is used. */
  directory?: string | undefined;
  /** Whether this process fills the cache: exactly one on each host, such as local rank 0. True unless given. */
  isDownloader?: boolean;
  /** Resolves when the downloaders of all hosts are done: a barrier of all ranks. Every rank calls it once, unless `directory` is given. */
  waitForDownloader?: () => Promise<void>;
  /** Milliseconds that a mirror may send nothing until the next one is tried; 5,000 unless given. */
  patienceMs?: number;
  /** Where progress is shown; standard error unless given. */
  output?: Output;
  /** `XDG_CACHE_HOME`, `RINGRUN_MNIST_MIRRORS`; those of the process unless given. */
  environment?: NodeJS.ProcessEnv;
}

export interface MnistSource {
  /** A folder that has all four files. */
  directory: string;
  /** The folder that was asked for, the real MNIST out of the cache, or digits that were drawn because MNIST could not be had. */
  kind: 'given' | 'mnist' | 'drawn';
}

/**
 * Sees to it that the data is on this host, and says where.
 *
 * Without a `directory` it is `$XDG_CACHE_HOME/ringrun/mnist` (`~/.cache/ringrun/mnist`), which is filled by a download on first use: from
 * the mirrors in turn, or those of `RINGRUN_MNIST_MIRRORS` (base URLs with commas between them; empty: never download), verified by
 * checksum. Where no mirror can be reached, one line says so and digits are drawn instead, once, in a folder beside it.
 *
 * Rejects with an `InvalidDataError` when `directory` lacks files, or the cache folder cannot be written.
 */
export async function prepareMnist(options: PrepareMnistOptions = {}): Promise<MnistSource> {
  const { directory, environment = process.env } = options;
  if (directory !== undefined) {
    requireAllFiles(directory);
    return { directory, kind: 'given' };
  }
  const cache = join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'ringrun');
  if (options.isDownloader ?? true) await fillCache(cache, options);
  await options.waitForDownloader?.();
  return findInCache(cache);
}

async function fillCache(cache: string, options: PrepareMnistOptions): Promise<void> {
  const { patienceMs = 5000, output = process.stderr, environment = process.env } = options;
  const folder = join(cache, 'mnist');
  const missing = missingFiles(folder);
  if (missing.length === 0) return;
  const mirrors = mirrorsOf(environment);
  makeFolder(folder);
  try {
    const downloads = downloadMnist(missing, { mirrors, patienceMs, progress: progressOn(output) });
    for await (const { file, gzipped } of downloads)
      writeAtomically(join(folder, `${file.name}.gz`), gzipped);
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error;
    output.write(
      `MNIST: it could not be downloaded (${error.message}); drawn digits take its place, and --data DIR reads the real ones.\n`,
    );
    drawInto(join(cache, drawnFolder));
  }
}

function findInCache(cache: string): MnistSource {
  const real = join(cache, 'mnist');
  if (missingFiles(real).length === 0) return { directory: real, kind: 'mnist' };
  const drawn = join(cache, drawnFolder);
  if (missingFiles(drawn).length === 0) return { directory: drawn, kind: 'drawn' };
  const cure =
    "Exactly one process of each host must have isDownloader, with this process's HOME and XDG_CACHE_HOME";
  throw new InvalidDataError(cache, 'this host has no downloader that filled it', cure);
}

function drawInto(folder: string): void {
  if (missingFiles(folder).length === 0) return;
  makeFolder(folder);
  for (const split of ['train', 'test'] as const) {
    const drawn = drawDigits(drawnSplits[split]);
    for (const part of ['images', 'labels'] as const) {
      const path = join(folder, `${mnistFiles[split][part].name}.gz`);
      // Level 1: these files save memory and keep one way of reading; being small matters less than being there soon.
      writeAtomically(path, gzipSync(encodeIdx(drawn[part]), { level: 1 }));
    }
  }
}

function mirrorsOf({ RINGRUN_MNIST_MIRRORS: given }: NodeJS.ProcessEnv): readonly string[] {
  if (given === undefined) return defaultMirrors;
  const mirrors = given
    .split(',')
    .map((mirror) => mirror.trim())
    .filter((mirror) => mirror !== '');
  const odd = mirrors.find((mirror) => !/^https?:\/\//.test(mirror) || !URL.canParse(mirror));
  if (odd === undefined) return mirrors;
  const cure = 'Give base URLs such as https://example.org/mnist/, with commas between them';
  throw new InvalidDataError('RINGRUN_MNIST_MIRRORS', `'${odd}' is no http or https URL`, cure);
}

function requireAllFiles(directory: string): void {
  const missing = missingFiles(directory).map(({ name }) => name);
  if (missing.length === 0) return;
  const cure =
    "Give --data a folder with MNIST's four files, gzip'd or not, or leave it out to download them";
  throw new InvalidDataError(directory, `it has no ${missing.join(', no ')}`, cure);
}

function missingFiles(directory: string): MnistFile[] {
  return allMnistFiles.filter((file) => findMnistFile(directory, file) === undefined);
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw cannotBeWritten(folder, error);
  }
}

/** The file is there completely or not at all, also while another process writes the same one. */
function writeAtomically(path: string, bytes: Uint8Array): void {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.part`;
  try {
    writeFileSync(temporary, bytes, { flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw cannotBeWritten(path, error);
  }
}

function cannotBeWritten(path: string, cause: unknown): InvalidDataError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const cure = 'Set XDG_CACHE_HOME to a folder that can be written, or give --data DIR';
  return new InvalidDataError(path, `the cache cannot be written (${reason})`, cure, { cause });
}
