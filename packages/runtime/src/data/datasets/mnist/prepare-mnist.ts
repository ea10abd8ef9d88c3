import { requireOptions } from '@ringrun/core';
import { gzipSync } from 'node:zlib';
import type { Storage } from '../../../storage/index.ts';
import { prepare, prepareOptions } from '../prepare.ts';
import type { DownloadableDataset, PrepareOptions, PreparedData } from '../prepare.ts';
import { syntheticDigits } from './synthetic-digits.ts';
import { allMnistFiles, mnistFiles, remoteFile } from './files.ts';
import { encodeIdx } from './idx.ts';

/** As many synthetic digits as MNIST has, each split from its own seed. */
const syntheticSplits = {
  train: { count: 60_000, seed: 1 },
  test: { count: 10_000, seed: 2 },
} as const;

const mnist: DownloadableDataset = {
  title: 'MNIST',
  folder: 'mnist',
  syntheticTitle: 'synthetic digits',
  syntheticFolder: 'synthetic-digits-1',
  mirrorsVariable: 'RINGRUN_MNIST_MIRRORS',
  mirrors: [
    'https://ossci-datasets.s3.amazonaws.com/mnist/',
    'https://storage.googleapis.com/cvdf-datasets/mnist/',
  ],
  files: allMnistFiles.map(remoteFile),
  contents: "MNIST's four files, gzip'd or not",
  lacks,
  generate,
};

/**
 * Ensures that MNIST is on this host and returns its location for `loadMnist`.
 *
 * Default location: `$XDG_CACHE_HOME/ringrun/mnist` (`~/.cache/ringrun/mnist` if unset). The first call downloads the
 * files from the first mirror that has them and verifies their checksums. `RINGRUN_MNIST_MIRRORS` replaces the
 * mirrors (base URLs separated by commas; empty: no download). `synthetic: true` generates 70,000 digits in another
 * folder instead, once, in about 5 s.
 *
 * A collective in an initialized group: LOCAL_RANK 0 of each host fills the cache while the others wait, and an
 * error on one rank is thrown on all.
 *
 * @throws DownloadError if no mirror delivers the files
 * @throws InvalidDataError if `location` lacks files, or the cache folder cannot be written
 * @throws InvalidArgumentError for both a `location` and `synthetic`
 * @throws StorageError if `location` cannot be read
 */
export async function prepareMnist(options: PrepareOptions = {}): Promise<PreparedData> {
  requireOptions('prepareMnist', options, prepareOptions);
  return await prepare(mnist, options);
}

async function lacks(storage: Storage): Promise<string[]> {
  const found = await Promise.all(allMnistFiles.map(({ name }) => storage.list(name)));
  const isPresent = (index: number) =>
    found[index].some(({ name }) =>
      [allMnistFiles[index].name, `${allMnistFiles[index].name}.gz`].includes(name),
    );
  return allMnistFiles.filter((_, index) => !isPresent(index)).map(({ name }) => `no ${name}`);
}

function* generate(): Generator<[name: string, bytes: Uint8Array], void> {
  for (const split of ['train', 'test'] as const) {
    const digits = syntheticDigits(syntheticSplits[split]);
    for (const part of ['images', 'labels'] as const) {
      // Level 1: writing these files fast matters more than their size.
      yield [`${mnistFiles[split][part].name}.gz`, gzipSync(encodeIdx(digits[part]), { level: 1 })];
    }
  }
}
