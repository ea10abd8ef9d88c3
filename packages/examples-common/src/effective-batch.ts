import type { Settings } from './settings.ts';

/** How many images a step takes. */
export interface EffectiveBatch {
  perRank: number;
  /** Of all ranks together. */
  global: number;
}

/** Throws an Error that names the nearest sizes, for a `globalBatchSize` that does not divide evenly. */
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
      `--global-batch-size ${globalBatchSize} does not divide evenly among ${worldSize} ranks; take ${nearest}.`,
    );
  }
  return { perRank: globalBatchSize / worldSize, global: globalBatchSize };
}

/** What the rates of the command line are meant for. */
const ordinaryBatch = 64;

/**
 * The linear rule (Goyal et al., "Accurate, Large Minibatch SGD", 2017): with k times the images a step goes as far as k steps would have gone, so the
 * rate is k times as high.
 */
export function learningRate({ lr, scaleLr }: Pick<Settings, 'lr' | 'scaleLr'>, global: number): number {
  return scaleLr ? (lr * global) / ordinaryBatch : lr;
}
