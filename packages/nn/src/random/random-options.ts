import type { Generator } from './generator.ts';

/** Options of functions that draw numbers. */
export interface RandomOptions {
  /** Random number generator. Default: the one seeded by `manualSeed`. */
  generator?: Generator;
}
