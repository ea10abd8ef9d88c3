import type { Taps } from '../../../functional/sampling.ts';

/** ONNX's nearest_mode: which of two neighbours is copied. */
export type NearestMode = 'round_prefer_floor' | 'round_prefer_ceil' | 'floor' | 'ceil';

/** The index of the element to copy, among `length` elements. */
export function nearest(place: number, length: number, mode: NearestMode): number {
  const rounded = {
    round_prefer_floor: Math.ceil(place - 0.5),
    round_prefer_ceil: Math.floor(place + 0.5),
    floor: Math.floor(place),
    ceil: Math.ceil(place),
  }[mode];
  return Math.min(Math.max(rounded, 0), length - 1);
}

export interface Filter {
  /** The weight of an element at a distance. */
  readonly weight: (distance: number) => number;
  /** The distance beyond which weights are 0. */
  readonly radius: number;
  /** Below 1, the filter is stretched by its inverse, so that no element is skipped (antialias). */
  readonly scale: number;
  /**
   * If true, positions outside have no weight, and the other weights are normalized to sum 1. Otherwise the first and last
   * elements repeat.
   */
  readonly excludesOutside: boolean;
}

/** The elements around each place, and their weights. */
export function filterTaps(places: readonly number[], length: number, filter: Filter): Taps {
  const { weight, radius, scale, excludesOutside } = filter;
  const reach = radius / scale;
  return places.map((place) => {
    const first = Math.floor(place - reach) + 1;
    const count = Math.max(0, Math.ceil(place + reach) - first);
    const all = Array.from({ length: count }, (_, tap) => ({
      position: first + tap,
      weight: weight(Math.abs(place - first - tap) * scale),
    }));
    const inside = all.filter(({ position }) => position >= 0 && position < length);
    const taps = excludesOutside ? inside : all;
    const isWhole = scale === 1 && !excludesOutside;
    const sum = isWhole ? 1 : taps.reduce((total, tap) => total + tap.weight, 0);
    return taps.map((tap) => ({
      position: Math.min(Math.max(tap.position, 0), length - 1),
      weight: sum === 0 ? 0 : tap.weight / sum,
    }));
  });
}

export const linearWeight = (distance: number): number => Math.max(0, 1 - distance);
