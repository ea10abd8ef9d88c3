import { sizeOf, type Value } from '../graph/node.ts';
import { indexSelect } from './indexing.ts';
import { pad, reshape, slice, split } from './shape.ts';

/** How a kernel moves along one axis of an image. */
export interface Course {
  readonly stride: number;
  readonly dilation: number;
  /** Zeros before and after the image. */
  readonly before: number;
  readonly after: number;
}

/** For each of a kernel's taps along an axis, the elements that it meets, one for each place of the kernel. */
export function seenByTaps(value: Value, axis: number, taps: number, course: Course): Value[] {
  const { stride, dilation, before, after } = course;
  const size = value.shape[axis] + before + after;
  const places = placesOf(value.shape[axis], taps, course);
  const unfilled = (stride - (size % stride)) % stride;
  const none = value.shape.map(() => 0);
  const padded = pad(value, none.with(axis, before), none.with(axis, after + unfilled));
  const phases = everyNth(padded, axis, stride);
  return Array.from({ length: taps }, (_, tap) => {
    const first = tap * dilation;
    const start = Math.floor(first / stride);
    return slice(phases[first % stride], axis, start, start + places);
  });
}

/**
 * The same, joined along the axis: the elements that the first tap meets, then those of the second, and so on.
 *
 * One Gather, which copies each element once: 5 taps over the rows of [7,24,32,64] take a quarter of the time of slices that are joined.
 */
export function unfold(value: Value, axis: number, taps: number, course: Course): Value {
  const { stride, dilation, before, after } = course;
  const none = value.shape.map(() => 0);
  const places = placesOf(value.shape[axis], taps, course);
  const positions = Array.from(
    { length: taps * places },
    (_, place) => Math.floor(place / places) * dilation + (place % places) * stride,
  );
  return indexSelect(pad(value, none.with(axis, before), none.with(axis, after)), axis, positions);
}

function placesOf(size: number, taps: number, { stride, dilation, before, after }: Course): number {
  return Math.floor((before + size + after - (taps - 1) * dilation - 1) / stride) + 1;
}

/** The elements 0, n, 2n, … along an axis, the elements 1, n + 1, …, and so on; n divides their number. */
export function everyNth(value: Value, axis: number, n: number): readonly Value[] {
  if (n === 1) return [value];
  const { shape } = value;
  const [outer, inner] = [sizeOf(shape.slice(0, axis)), sizeOf(shape.slice(axis + 1))];
  const parts = split(reshape(value, [outer * (shape[axis] / n), n, inner]), 1, n);
  return parts.map((part) => reshape(part, shape.with(axis, shape[axis] / n)));
}
