import type { Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import { indexSelect } from './indexing.ts';
import { pad, reshape, slice, split } from './shape.ts';

/** The window of a kernel along one axis of an image. */
export interface AxisWindow {
  readonly stride: number;
  readonly dilation: number;
  /** Zeros before and after the image. */
  readonly before: number;
  readonly after: number;
}

/** For each tap of a kernel along an axis, the elements that it reads, one per window. */
export function unfoldByTap(value: Value, axis: number, taps: number, window: AxisWindow): Value[] {
  const { stride, dilation, before, after } = window;
  const size = value.shape[axis] + before + after;
  const windows = windowCount(value.shape[axis], taps, window);
  const unfilled = (stride - (size % stride)) % stride;
  const none = value.shape.map(() => 0);
  const padded = pad(value, none.with(axis, before), none.with(axis, after + unfilled));
  const phases = everyNth(padded, axis, stride);
  return Array.from({ length: taps }, (_, tap) => {
    const first = tap * dilation;
    const start = Math.floor(first / stride);
    return slice(phases[first % stride], axis, start, start + windows);
  });
}

/**
 * Like `unfoldByTap`, concatenated along the axis: the elements of the first tap, then those of the second, and so on.
 *
 * Uses one Gather, which copies each element once: 5 taps over the rows of [7,24,32,64] take a quarter of the time of
 * concatenated slices.
 */
export function unfold(value: Value, axis: number, taps: number, window: AxisWindow): Value {
  const { stride, dilation, before, after } = window;
  const none = value.shape.map(() => 0);
  const windows = windowCount(value.shape[axis], taps, window);
  const positions = Array.from(
    { length: taps * windows },
    (_, i) => Math.floor(i / windows) * dilation + (i % windows) * stride,
  );
  return indexSelect(pad(value, none.with(axis, before), none.with(axis, after)), axis, positions);
}

function windowCount(size: number, taps: number, { stride, dilation, before, after }: AxisWindow): number {
  return Math.floor((before + size + after - (taps - 1) * dilation - 1) / stride) + 1;
}

/** Splits into n values: the elements 0, n, 2n, … along an axis, the elements 1, n + 1, …, and so on. n divides their number. */
export function everyNth(value: Value, axis: number, n: number): readonly Value[] {
  if (n === 1) return [value];
  const { shape } = value;
  const [outer, inner] = [sizeOf(shape.slice(0, axis)), sizeOf(shape.slice(axis + 1))];
  const parts = split(reshape(value, [outer * (shape[axis] / n), n, inner]), 1, n);
  return parts.map((part) => reshape(part, shape.with(axis, shape[axis] / n)));
}
