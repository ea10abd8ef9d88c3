import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBatch } from '../../packages/runtime/src/data/datasets/cifar10/batch.ts';
import { syntheticShapes } from '../../packages/runtime/src/data/datasets/cifar10/synthetic-shapes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const files = {
  train: Array.from({ length: 5 }, (_, index) => `data_batch_${index + 1}.bin`),
  test: ['test_batch.bin'],
} as const;

/** A folder with CIFAR-10's batch files, filled with synthetic images, the same in every run. */
export function syntheticCifar10(counts: { train: number; test: number }): string {
  const folder = temporaryFolder();
  for (const [seed, split] of (['train', 'test'] as const).entries()) {
    const { labels, pixels } = syntheticShapes({ count: counts[split], seed });
    const [perFile, perImage] = [labels.length / files[split].length, pixels.length / labels.length];
    for (const [index, file] of files[split].entries()) {
      const [start, end] = [index, index + 1].map((one) => Math.floor(one * perFile));
      const batch = encodeBatch(labels.slice(start, end), pixels.slice(start * perImage, end * perImage));
      writeFileSync(join(folder, file), batch);
    }
  }
  return folder;
}
