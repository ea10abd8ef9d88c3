import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { RemoteFile } from '../download.ts';

/** One of MNIST's files. */
export interface MnistFile {
  /** Name of the uncompressed file; the gzipped one ends in `.gz`. */
  readonly name: string;
  /** Uncompressed size in bytes. */
  readonly bytes: number;
  /** SHA-256 of the uncompressed file; the compressed files differ between mirrors. */
  readonly sha256: string;
}

/** Part of a data set. */
export type Split = 'train' | 'test';

/** Files of the images and labels of each split. */
export const mnistFiles: Readonly<Record<Split, { images: MnistFile; labels: MnistFile }>> = {
  train: {
    images: {
      name: 'train-images-idx3-ubyte',
      bytes: 47_040_016,
      sha256: 'ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db',
    },
    labels: {
      name: 'train-labels-idx1-ubyte',
      bytes: 60_008,
      sha256: '65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5',
    },
  },
  test: {
    images: {
      name: 't10k-images-idx3-ubyte',
      bytes: 7_840_016,
      sha256: '0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7',
    },
    labels: {
      name: 't10k-labels-idx1-ubyte',
      bytes: 10_008,
      sha256: 'ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2',
    },
  },
};

/** All four. */
export const allMnistFiles: readonly MnistFile[] = Object.values(mnistFiles).flatMap(({ images, labels }) => [
  images,
  labels,
]);

/** The gzipped file on the mirrors, verified by its uncompressed contents. */
export function remoteFile({ name, bytes, sha256 }: MnistFile): RemoteFile {
  const verify = (gzipped: Uint8Array) => {
    const found = createHash('sha256')
      .update(gunzipSync(gzipped, { maxOutputLength: bytes }))
      .digest('hex');
    if (found !== sha256) throw new Error(`its contents have SHA-256 ${found}, not MNIST's ${sha256}`);
  };
  return { name: `${name}.gz`, maxBytes: bytes, verify };
}
