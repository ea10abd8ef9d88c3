import type { Node } from '../../src/graph/node.ts';
import { sizeOf } from '../../src/value-type.ts';
import type { Operators } from '../../src/graph/operators.ts';
import type { ConvAttributes, PoolAttributes } from '../../src/graph/attributes.ts';

/** A tensor in double precision, row-major; int64 elements as numbers, bool as 0 and 1. */
export interface Reference {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

/** Positions along an axis, sorted by descending or ascending elements; stable. */
export function sortedPlaces(
  x: Reference,
  index: readonly number[],
  axis: number,
  largest: boolean,
): number[] {
  const at = (place: number) => element(x, index.with(axis, place));
  const places = Array.from({ length: x.shape[axis] }, (_, place) => place);
  return places.sort((a, b) => (largest ? at(b) - at(a) : at(a) - at(b)) || a - b);
}

/**
 * Calls `visit` with the offsets in the large image [N, C, H, W], the small one [N, M, h, w] and the weight [M, C / group, kH, kW] of each
 * product that a convolution sums.
 */
export function forEachTap(
  large: readonly number[],
  small: readonly number[],
  weight: readonly number[],
  { strides, pads, dilations, group }: ConvAttributes,
  visit: (large: number, small: number, tap: number) => void,
): void {
  const [filters, perGroup, ...kernel] = weight;
  const [largeSizes, smallSizes] = [large.slice(2), small.slice(2)];
  const [largeArea, smallArea, kernelArea] = [largeSizes, smallSizes, kernel].map(sizeOf);
  forEachIndex(kernel, (taps, tap) => {
    // Hoisted out of the loops over images and channels: indices are arrays, places are numbers.
    const places: [number, number][] = [];
    forEachIndex(smallSizes, (window, to) => {
      const at = window.map((k, axis) => k * strides[axis] + taps[axis] * dilations[axis] - pads[axis]);
      if (isInside(largeSizes, at)) places.push([offset(largeSizes, at), to]);
    });
    forEachIndex([small[0], filters, perGroup], ([n, m, c]) => {
      const channel = Math.floor(m / (filters / group)) * perGroup + c;
      const from = (n * large[1] + channel) * largeArea;
      const to = (n * small[1] + m) * smallArea;
      const ofWeight = (m * perGroup + c) * kernelArea + tap;
      for (const [place, window] of places) visit(from + place, to + window, ofWeight);
    });
  });
}

/** Zeros of a shape [N, C, …], or the bias [C] of each channel. */
export function biases(shape: readonly number[], bias: Reference | undefined): Float64Array {
  return tabulate(shape, ([, channel]) => bias?.data[channel] ?? 0);
}

/** The elements that a pool's window reads, row-major; including those outside of the image. */
export function windowAt(
  [n, channel, ...window]: readonly number[],
  { kernelShape, strides, pads, dilations }: PoolAttributes,
): number[][] {
  const places: number[][] = [];
  forEachIndex(kernelShape, (tap) => {
    const place = tap.map(
      (k, axis) => window[axis] * strides[axis] + k * (dilations?.[axis] ?? 1) - pads[axis],
    );
    places.push([n, channel, ...place]);
  });
  return places;
}

export function maxPool(
  { outputs: [y], attributes }: Node<'MaxPool' | 'ExactMaxPool'>,
  [x]: readonly Reference[],
): readonly Float64Array[] {
  const positions = tabulate(y.shape, (index) => {
    const places = windowAt(index, attributes).filter((place) => isInside(x.shape, place));
    return places
      .map((place) => offset(x.shape, place))
      .reduce((best, place) =>
        // Strictly larger: the first of equal elements is the maximum.
        x.data[place] > x.data[best] || Number.isNaN(x.data[place]) ? place : best,
      );
  });
  return [positions.map((place) => x.data[place]), positions];
}

export function isInside(shape: readonly number[], index: readonly number[]): boolean {
  return index.every((position, axis) => position >= 0 && position < shape[axis]);
}

export function sumOver(x: Reference, axes: Operators['ReduceSum']['axes']): Float64Array {
  return reduceOver(x, axes, 0, (sum, element) => sum + element);
}

export function reduceOver(
  { shape, data }: Reference,
  axes: Operators['ReduceSum']['axes'],
  start: number,
  combine: (result: number, element: number) => number,
): Float64Array {
  const kept = shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const result = new Float64Array(sizeOf(kept)).fill(start);
  let place = 0;
  forEachIndex(shape, (index) => {
    const into = offset(kept, index);
    result[into] = combine(result[into], data[place]);
    place += 1;
  });
  return result;
}

/** The error function to double precision for |x| ≤ 3, by its Taylor series. */
export function erf(x: number): number {
  let term = x;
  let total = x;
  for (let n = 1; n < 100; n += 1) {
    term *= (-x * x) / n;
    total += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * total;
}

export function scattered(shape: readonly number[], positions: Reference, updates: Reference): Float64Array {
  const result = new Float64Array(sizeOf(shape));
  for (const [place, position] of positions.data.entries()) result[position] += updates.data[place];
  return result;
}

/** numpy's broadcasting: missing leading dimensions and dimensions of 1 are repeated. */
export function broadcast(value: Reference, shape: readonly number[]): Float64Array {
  const added = shape.length - value.shape.length;
  if (value.data.length === sizeOf(shape)) return value.data;
  return tabulate(shape, (index) => value.data[offset(value.shape, index.slice(added))]);
}

export function element({ shape, data }: Reference, index: readonly number[]): number {
  return data[offset(shape, index)];
}

/** Row-major place of an index; along a dimension of 1, every position is the first. */
export function offset(shape: readonly number[], index: readonly number[]): number {
  let place = 0;
  for (const [axis, size] of shape.entries()) place = place * size + (size === 1 ? 0 : index[axis]);
  return place;
}

export function sum(count: number, term: (k: number) => number, start = 0): number {
  let total = start;
  for (let k = 0; k < count; k += 1) total += term(k);
  return total;
}

export function tabulate(shape: readonly number[], compute: (index: number[]) => number): Float64Array {
  const result = new Float64Array(sizeOf(shape));
  let place = 0;
  forEachIndex(shape, (index) => {
    result[place] = compute(index);
    place += 1;
  });
  return result;
}

/** Every index of a shape in row-major order, with its place; the array is reused from call to call. */
export function forEachIndex(
  shape: readonly number[],
  visit: (index: number[], place: number) => void,
): void {
  const index = shape.map(() => 0);
  const count = sizeOf(shape);
  for (let place = 0; place < count; place += 1) {
    visit(index, place);
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      index[axis] += 1;
      if (index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/** The channel of [N, C, …] in which an element is. */
export function channelOf({ shape }: Reference, place: number): number {
  return Math.floor(place / sizeOf(shape.slice(2))) % shape[1];
}

export function meansByChannel(
  channels: number,
  elements: readonly { element: number; channel: number }[],
): readonly number[] {
  const sums = Array<number>(channels).fill(0);
  for (const { element, channel } of elements) sums[channel] += element;
  return sums.map((sum) => (sum * channels) / elements.length);
}
