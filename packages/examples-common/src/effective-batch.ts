import type { Settings } from './settings.ts';

/** Images per step. */
export interface EffectiveBatch {
  perRank: number;
  /** Summed over all ranks. */
  global: number;
}

/** Throws an Error with the nearest valid sizes if `globalBatchSize` is not divisible by the number of ranks. */
export function effectiveBatch(
  { batchSize, globalBatchSize }: Pick<Settings, 'batchSize' | 'globalBatchSize'>,
  worldSize: number,
): EffectiveBatch {
  if (globalBatchSize === undefined) {
    const perRank = batchSize ?? ordinaryBatch;
    return { perRank, global: perRank * worldSize };
  }
  if (globalBatchSize % worldSize !== 0) {
    const below = globalBatchSize - (globalBatchSize % worldSize);
    const nearest = [below, below + worldSize].filter((size) => size > 0).join(' or ');
    throw new Error(
      `--global-batch-size: expected a multiple of the ${worldSize} ranks, got ${globalBatchSize}. Use ${nearest}.`,
    );
  }
  return { perRank: globalBatchSize / worldSize, global: globalBatchSize };
}

/** Images per step for which `--lr` is meant when `--scale-lr` is set. */
const ordinaryBatch = 64;

/** With `scaleLr`, the linear scaling rule: k times the batch, k times the rate (Goyal et al., 2017). */
export function learningRate({ lr, scaleLr }: Pick<Settings, 'lr' | 'scaleLr'>, global: number): number {
  return scaleLr ? (lr * global) / ordinaryBatch : lr;
}
