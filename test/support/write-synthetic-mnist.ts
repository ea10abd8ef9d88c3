import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { syntheticDigits } from '../../packages/runtime/src/data/datasets/mnist/synthetic-digits.ts';
import { encodeIdx } from '../../packages/runtime/src/data/datasets/mnist/idx.ts';

export interface ImageCounts {
  train: number;
  test: number;
}

const filePrefix = { train: 'train', test: 't10k' } as const;

/** Writes MNIST's four files with synthetic digits, the same in every run. One digit takes 50 µs. */
export function writeSyntheticMnist(folder: string, counts: ImageCounts): void {
  for (const [seed, split] of (['train', 'test'] as const).entries()) {
    const { images, labels } = syntheticDigits({ count: counts[split], seed });
    const write = (kind: string, bytes: Uint8Array) => {
      writeFileSync(join(folder, `${filePrefix[split]}-${kind}-ubyte.gz`), gzipSync(bytes, { level: 1 }));
    };
    write('images-idx3', encodeIdx(images));
    write('labels-idx1', encodeIdx(labels));
  }
}
