import { expect } from 'vitest';

/** The largest absolute difference of two arrays, element by element. Fails unless their lengths are equal. */
export function largestDifference(a: readonly number[], b: readonly number[]): number {
  expect(a).toHaveLength(b.length);
  return a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i])), 0);
}
