/**
 * A training loop for ringrun and `@ringrun/nn`: metrics over all ranks, and loggers.
 *
 * @module @ringrun/train
 */
export * from './loggers/index.ts';
export * from './metrics/index.ts';
