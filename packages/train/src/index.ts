/**
 * A training loop for ringrun and `@ringrun/nn`: metrics over all ranks.
 *
 * @module @ringrun/train
 */
export * from './metrics/index.ts';
