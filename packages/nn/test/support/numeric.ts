import { expect } from 'vitest';

/**
 * Fails at the worst element unless every difference is at most `tolerance` times the largest expected element.
 *
 * Suits sums of which some nearly cancel: float32 rounds by the size of the terms, not of their sum.
 */
export function expectClose(
  what: string,
  actual: ArrayLike<number | bigint>,
  expected: ArrayLike<number>,
  tolerance: number,
  scale = largest(expected),
): void {
  expect(actual.length, `${what}: number of elements`).toBe(expected.length);
  const differences = Array.from(expected, (exact, place) => Math.abs(Number(actual[place]) - exact));
  // NaN is worse than any difference.
  const sizes = differences.map((difference) => (Number.isNaN(difference) ? Infinity : difference));
  const worst = sizes.indexOf(largest(sizes));
  expect(
    sizes[worst] ?? 0,
    `${what}: element ${worst} is ${actual[worst]}, expected ${expected[worst]} of at most ${scale}`,
  ).toBeLessThanOrEqual(tolerance * scale);
}

/** Size of the largest element. */
export function largest(elements: ArrayLike<number>): number {
  let size = 0;
  for (let place = 0; place < elements.length; place += 1) size = Math.max(size, Math.abs(elements[place]));
  return size;
}

/** The derivative of `loss` at `point` along `direction`, by central differences; exact to about 1e-9 for smooth losses of size 1. */
export function directionalDerivative(
  loss: (point: Float64Array) => number,
  point: Float64Array,
  direction: (place: number) => number,
): number {
  const step = 1e-5;
  const moved = (by: number) => loss(point.map((value, place) => value + by * direction(place)));
  return (moved(step) - moved(-step)) / (2 * step);
}
