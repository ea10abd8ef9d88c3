import { temporaryFolder } from './temporary-folder.ts';
import { writeSyntheticMnist } from './write-synthetic-mnist.ts';
import type { ImageCounts } from './write-synthetic-mnist.ts';

/** A folder with MNIST's four files, filled with synthetic digits, the same in every run. One digit takes 50 µs. */
export function syntheticMnist(counts: ImageCounts): string {
  const folder = temporaryFolder();
  writeSyntheticMnist(folder, counts);
  return folder;
}
