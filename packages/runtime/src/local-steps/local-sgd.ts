import type { ForwardModule } from '@ringrun/core';
import { DiLoCo } from './diloco.ts';
import type { LocalSGDOptions } from './options.ts';

/**
 * Trains a model on ranks that average their parameters only every `innerSteps` steps (Stich 2018; torch: PeriodicModelAverager, Accelerate:
 * LocalSGD). A {@link DiLoCo} whose outer step takes the average as it is. Use it like a DiLoCo: `await model.step()` after each step of the
 * optimizer.
 */
export class LocalSGD<M extends ForwardModule> extends DiLoCo<M> {
  /** @throws as the constructor of DiLoCo */
  constructor(module: M, { innerSteps = 8, ...options }: LocalSGDOptions = {}) {
    super(module, { ...options, innerSteps, outer: { lr: 1, momentum: 0 } });
  }
}
