import type { Extent } from '../transforms/steps.ts';

/** A decoded image: one byte for each channel of each pixel, row by row. */
export interface Pixels extends Extent {
  data: Uint8Array;
}

/** Number of channels: red, green, blue. */
export const channels = 3;
