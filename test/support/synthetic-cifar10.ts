import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBatch } from '../../packages/runtime/src/data/datasets/cifar10/batch.ts';
import { syntheticShapes } from '../../packages/runtime/src/data/datasets/cifar10/synthetic-shapes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const file = { train: 'data_batch_1.bin', test: 'test_batch.bin' } as const;

/** A folder with CIFAR-10's batch files, filled with synthetic images, the same in every run. */
export function syntheticCifar10(counts: { train: number; test: number }): string {
  const folder = temporaryFolder();
  for (const [seed, split] of (['train', 'test'] as const).entries()) {
    const { labels, pixels } = syntheticShapes({ count: counts[split], seed });
    writeFileSync(join(folder, file[split]), encodeBatch(labels, pixels));
  }
  return folder;
}
