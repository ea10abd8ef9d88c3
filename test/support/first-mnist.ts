import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { syntheticMnist } from './synthetic-mnist.ts';
import { repository } from './environment.ts';
import { temporaryFolder } from './temporary-folder.ts';

const shared = join(repository, '../shared/data/mnist');
const filePrefix = { train: 'train', test: 't10k' } as const;

/** A folder with the first images of MNIST from ../shared, or as many synthetic ones if that does not exist. */
export function firstMnist(counts: { train: number; test: number }): string {
  if (!existsSync(shared)) return syntheticMnist(counts);
  const folder = temporaryFolder();
  for (const split of ['train', 'test'] as const) {
    for (const kind of ['images-idx3', 'labels-idx1']) {
      const file = `${filePrefix[split]}-${kind}-ubyte.gz`;
      const cut = firstItems(gunzipSync(readFileSync(join(shared, file))), counts[split]);
      writeFileSync(join(folder, file), gzipSync(cut, { level: 1 }));
    }
  }
  return folder;
}

/**
 * The first items of an IDX file: two zeros, a type, the number of dimensions, each dimension in 4 bytes, the items.
 */
function firstItems(idx: Buffer, count: number): Buffer {
  const dimensions = idx[3];
  const header = 4 + 4 * dimensions;
  const bytesPerItem = (idx.length - header) / idx.readUInt32BE(4);
  const cut = Buffer.from(idx.subarray(0, header + count * bytesPerItem));
  cut.writeUInt32BE(count, 4);
  return cut;
}
