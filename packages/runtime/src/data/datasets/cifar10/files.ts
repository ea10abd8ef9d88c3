import { createHash } from 'node:crypto';
import type { RemoteFile } from '../download.ts';

export type { Split } from '../mnist/files.ts';

/** The official archive of the binary version, https://www.cs.toronto.edu/~kriz/cifar.html. */
export const archiveName = 'cifar-10-binary.tar.gz';
const archiveBytes = 170_052_171;
const archiveSha256 = 'c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd';

/** The archive on the mirrors, which all have identical bytes. */
export const remoteArchive: RemoteFile = {
  name: archiveName,
  maxBytes: archiveBytes,
  verify(bytes) {
    const found = createHash('sha256').update(bytes).digest('hex');
    if (found !== archiveSha256) throw new Error(`it has SHA-256 ${found}, not CIFAR-10's ${archiveSha256}`);
  },
};

/** File names of the training and the test batches. */
export const batchNames = { train: /^data_batch_\d+\.bin$/, test: /^test_batch\.bin$/ };

/** The base name of `name`. */
export function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
