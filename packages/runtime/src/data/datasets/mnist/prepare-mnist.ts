import { requireOptions } from '@ringrun/collectives/require-options';
import { gzipSync } from 'node:zlib';
import type { Storage } from '../../../storage/index.ts';
import { prepare, prepareOptions } from '../prepare.ts';
import type { DataSet, PrepareOptions, PreparedData } from '../prepare.ts';
import { drawDigits } from './digits.ts';
import { allMnistFiles, mnistFiles, remoteFile } from './files.ts';
import { encodeIdx } from './idx.ts';

/** How many digits are drawn where MNIST cannot be had: as many as it has, from seeds of their own. */
const drawnSplits = {
  train: { count: 60_000, seed: 1 },
  test: { count: 10_000, seed: 2 },
} as const;

const mnist: DataSet = {
  title: 'MNIST',
  folder: 'mnist',
  drawings: 'drawn digits',
  drawnFolder: 'drawn-digits-1',
  mirrorsVariable: 'RINGRUN_MNIST_MIRRORS',
  mirrors: [
    'https://ossci-datasets.s3.amazonaws.com/mnist/',
    'https://storage.googleapis.com/cvdf-datasets/mnist/',
  ],
  files: allMnistFiles.map(remoteFile),
  contents: "MNIST's four files, gzip'd or not",
  lacks,
  draw,
};

/**
 * Sees to it that MNIST is on this host, and says where, for `loadMnist`.
 *
 * Without a `location` it is `$XDG_CACHE_HOME/ringrun/mnist` (`~/.cache/ringrun/mnist`), which is filled by a download on first use: from
 * the mirrors in turn, or those of `RINGRUN_MNIST_MIRRORS` (base URLs with commas between them; empty: never download), verified by
 * checksum. Where no mirror can be reached, one line says so and digits are drawn instead, once, in a folder beside it.
 *
 * In an initialised group every rank calls it: LOCAL_RANK 0 of each host fills the cache while the others wait. A failure of one rank is one of all.
 *
 * Rejects with an `InvalidDataError` when `location` lacks files, or the cache folder cannot be written, and with a `StorageError` when `location`
 * cannot be read.
 */
export async function prepareMnist(options: PrepareOptions = {}): Promise<PreparedData> {
  requireOptions('prepareMnist', options, prepareOptions);
  return await prepare(mnist, options);
}

async function lacks(storage: Storage): Promise<string[]> {
  const there = await Promise.all(allMnistFiles.map(({ name }) => storage.list(name)));
  const isThere = (place: number) =>
    there[place].some(({ name }) =>
      [allMnistFiles[place].name, `${allMnistFiles[place].name}.gz`].includes(name),
    );
  return allMnistFiles.filter((_, place) => !isThere(place)).map(({ name }) => `no ${name}`);
}

function* draw(): Generator<[name: string, bytes: Uint8Array], void> {
  for (const split of ['train', 'test'] as const) {
    const drawn = drawDigits(drawnSplits[split]);
    for (const part of ['images', 'labels'] as const) {
      // Level 1: these files save memory and keep one way of reading; being small matters less than being there soon.
      yield [`${mnistFiles[split][part].name}.gz`, gzipSync(encodeIdx(drawn[part]), { level: 1 })];
    }
  }
}
