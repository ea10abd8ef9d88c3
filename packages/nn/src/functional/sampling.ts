/** An axis of an image that is resized. */
export interface Sampling {
  /** Its elements before. */
  readonly length: number;
  /** Its elements after. */
  readonly size: number;
  /** The caller's factor; undefined: size / length. */
  readonly factor: number | undefined;
  /** See `InterpolateOptions`. */
  readonly alignCorners: boolean;
}

/** For each new element, the old elements in its weighted sum. */
export type Taps = readonly (readonly { readonly position: number; readonly weight: number }[])[];

/** For each new element, the old one that is copied. Rounded to float32 as in torch, because the floor of a tie depends on it. */
export function nearestPositions({ length, size, factor }: Sampling, exact: boolean): number[] {
  const scale = Math.fround(factor === undefined ? Math.fround(length) / size : 1 / factor);
  return Array.from({ length: size }, (_, index) => {
    return Math.min(Math.floor(Math.fround((exact ? index + 0.5 : index) * scale)), length - 1);
  });
}

/** Two neighbours of each new element. */
export function linearTaps(sampling: Sampling): Taps {
  const { length, size } = sampling;
  return Array.from({ length: size }, (_, index) => {
    const place = Math.max(sourcePlace(sampling, index), 0);
    const position = Math.min(Math.floor(place), length - 1);
    const weight = Math.min(place - position, 1);
    return [
      { position, weight: 1 - weight },
      { position: Math.min(position + 1, length - 1), weight },
    ];
  });
}

/** Four neighbours of each new element, with the weights of Keys' cubic convolution (1981). The first and last element repeat. */
export function cubicTaps(sampling: Sampling): Taps {
  const { length, size } = sampling;
  return Array.from({ length: size }, (_, index) => {
    const place = sourcePlace(sampling, index);
    const first = Math.floor(place) - 1;
    return Array.from({ length: 4 }, (_, tap) => ({
      position: Math.min(Math.max(first + tap, 0), length - 1),
      weight: cubicWeight(Math.abs(place - first - tap)),
    }));
  });
}

/** Position of a new element among the old ones. */
function sourcePlace({ length, size, factor, alignCorners }: Sampling, index: number): number {
  if (alignCorners) return size > 1 ? (index * (length - 1)) / (size - 1) : 0;
  return (index + 0.5) * (factor === undefined ? length / size : 1 / factor) - 0.5;
}

/** The weight of an element at a distance from 0 to 2. Default: a = −0.75, as in torch. */
export function cubicWeight(distance: number, a = -0.75): number {
  if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  if (distance >= 2) return 0;
  return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
}
