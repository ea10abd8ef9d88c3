/**
 * A training loop for ringrun and `@ringrun/nn`: the Trainer, metrics over all ranks, callbacks and loggers.
 *
 * @module @ringrun/train
 */
export * from './callbacks/index.ts';
export * from './loggers/index.ts';
export * from './metrics/index.ts';
export * from './trainer/index.ts';
