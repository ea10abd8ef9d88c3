import type { DataPass } from '../dataset.ts';
import { Random, mixed } from '../random.ts';
import { transformBatch } from '../transforms/batch-transform.ts';
import type { BatchTransform } from '../transforms/mix.ts';
import type { BatchMemory } from '../dataset.ts';

/** What the random numbers of a batch depend on: not on the thread that creates it. */
export interface BatchIdentity {
  pass: DataPass;
  /** The indices of its samples; for an iterable dataset, the share and the position of the batch in it. */
  numbers: readonly number[];
}

/** Apart from the numbers of a sample, which depend on seed, epoch and index. */
const ofBatches = 0x6d69780a;

/** Applies the loader's transform of batches, if there is one. */
export function transformed(
  batch: unknown,
  transform: BatchTransform | undefined,
  { pass: { seed, epoch }, numbers }: BatchIdentity,
  memory: BatchMemory | undefined,
): unknown {
  if (!transform) return batch;
  return transformBatch(transform, batch, new Random(mixed(ofBatches, seed, epoch, ...numbers)), memory);
}
