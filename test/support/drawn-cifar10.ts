import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBatch } from '../../packages/runtime/src/data/datasets/cifar10/batch.ts';
import { drawShapes } from '../../packages/runtime/src/data/datasets/cifar10/shapes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const file = { train: 'data_batch_1.bin', test: 'test_batch.bin' } as const;

/** A folder with CIFAR-10's batch files, of as many drawn images; the same ones each time. */
export function drawnCifar10(counts: { train: number; test: number }): string {
  const folder = temporaryFolder();
  for (const [seed, split] of (['train', 'test'] as const).entries()) {
    const { labels, pixels } = drawShapes({ count: counts[split], seed });
    writeFileSync(join(folder, file[split]), encodeBatch(labels, pixels));
  }
  return folder;
}
