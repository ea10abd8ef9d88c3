import { requireOptions } from '@ringrun/core';
import { prepare, prepareOptions } from '../prepare.ts';
import type { DownloadableDataset, PrepareOptions, PreparedData } from '../prepare.ts';
import { encodeBatch } from './batch.ts';
import { syntheticShapes } from './synthetic-shapes.ts';
import { remoteArchive } from './files.ts';
import { findCifar10 } from './find-cifar10.ts';

/** Images of a synthetic batch. Like CIFAR-10, the synthetic data has five batches for training and one for tests. */
const imagesPerBatch = 10_000;
const syntheticBatches = [
  'data_batch_1',
  'data_batch_2',
  'data_batch_3',
  'data_batch_4',
  'data_batch_5',
  'test_batch',
];

const cifar10: DownloadableDataset = {
  title: 'CIFAR-10',
  folder: 'cifar10',
  syntheticTitle: 'synthetic shapes',
  syntheticFolder: 'synthetic-shapes-1',
  mirrorsVariable: 'RINGRUN_CIFAR10_MIRRORS',
  mirrors: [
    'https://www.cs.toronto.edu/~kriz/',
    'https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/',
  ],
  files: [remoteArchive],
  contents: "CIFAR-10's binary version (cifar-10-binary.tar.gz, or its data_batch_*.bin and test_batch.bin)",
  lacks,
  generate,
};

/**
 * Ensures that CIFAR-10 is on this host and returns its location for `loadCifar10`. Like `prepareMnist`, with
 * `$XDG_CACHE_HOME/ringrun/cifar10` and `RINGRUN_CIFAR10_MIRRORS`. A download is verified by its checksum, a
 * `location` only by its structure. `synthetic: true` generates 60,000 images of ten figures (180 MB) once.
 */
export async function prepareCifar10(options: PrepareOptions = {}): Promise<PreparedData> {
  requireOptions('prepareCifar10', options, prepareOptions);
  return await prepare(cifar10, options);
}

async function lacks({ location }: { location: string }): Promise<string[]> {
  const { archive, train, test } = await findCifar10(location);
  if (archive !== undefined) return [];
  const missing = [
    train.length === 0 ? ['no data_batch_*.bin'] : [],
    test.length === 0 ? ['no test_batch.bin'] : [],
  ];
  return missing.flat();
}

function* generate(): Generator<[name: string, bytes: Uint8Array], void> {
  for (const [index, name] of syntheticBatches.entries()) {
    const { labels, pixels } = syntheticShapes({ count: imagesPerBatch, seed: 1 + index });
    yield [`${name}.bin`, encodeBatch(labels, pixels)];
  }
}
