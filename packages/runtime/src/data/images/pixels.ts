import type { Extent } from '../transforms/steps.ts';

/** A decoded image: one byte for each channel of each pixel, row by row. */
export interface Pixels extends Extent {
  data: Uint8Array;
}

/** Number of channels: red, green, blue. */
export const channels = 3;

/** [row, column, channel] to [channel, row, column]. */
export function planes({ data, width, height }: Pixels): Uint8Array {
  const pixels = new Uint8Array(channels * width * height);
  let begin = 0;
  for (let channel = 0; channel < channels; channel += 1) {
    for (let from = channel; from < data.length; from += channels) pixels[begin++] = data[from];
  }
  return pixels;
}
