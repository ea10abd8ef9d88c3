/** A weight in 8 bits: scale · (integer − 128), with one scale for each channel. */
export interface QuantizedWeight {
  readonly integers: Uint8Array;
  /** Not finite if a weight of the channel is not. */
  readonly scales: Float32Array;
}

/** The integer of 0. */
export const zeroPoint = 128;

/**
 * Rounds the elements of each channel to 255 multiples of its scale, symmetric around 0.
 *
 * @param weight row-major
 * @param axis dimension of the channels
 */
export function quantizePerChannel(
  weight: Float32Array,
  shape: readonly number[],
  axis: number,
): QuantizedWeight {
  const channels = shape[axis];
  const inner = shape.slice(axis + 1).reduce((product, size) => product * size, 1);
  const channelOf = (place: number) => Math.floor(place / inner) % channels;
  const largest = new Float32Array(channels);
  for (let place = 0; place < weight.length; place += 1) {
    const channel = channelOf(place);
    // Math.max keeps NaN.
    largest[channel] = Math.max(largest[channel], Math.abs(weight[place]));
  }
  // A channel of zeros has any scale; the smallest normal number keeps the quotients finite.
  const scales = largest.map((size) => (size === 0 ? 1 : Math.max(size / levels, smallestNormal)));
  const integers = new Uint8Array(weight.length);
  for (let place = 0; place < weight.length; place += 1)
    integers[place] = zeroPoint + Math.round(weight[place] / scales[channelOf(place)]);
  return { integers, scales };
}

/** Multiples of the scale on each side of 0. */
const levels = 127;
const smallestNormal = 2 ** -126;
