import type { SharedSettings } from './shared-options.ts';

/** Samples per step. */
export interface EffectiveBatch {
  perRank: number;
  /** Summed over all ranks. */
  global: number;
}

/** Throws an Error with the nearest valid sizes if `globalBatchSize` is not divisible by the number of ranks. */
export function effectiveBatch(
  { batchSize, globalBatchSize }: Pick<SharedSettings, 'batchSize' | 'globalBatchSize'>,
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

/** Samples per step and rank without any option. */
const ordinaryBatch = 64;

/**
 * With `scaleLr`, the linear scaling rule: k times the batch, k times the rate (Goyal et al., 2017).
 *
 * @param usual samples per step for which `lr` is meant
 */
export function learningRate(
  { lr, scaleLr }: Pick<SharedSettings, 'lr' | 'scaleLr'>,
  global: number,
  usual = ordinaryBatch,
): number {
  return scaleLr ? (lr * global) / usual : lr;
}
