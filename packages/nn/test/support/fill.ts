import { sizeOf } from '../../src/value-type.ts';

/**
 * Numbers in [−1, 1) that look irregular, by a formula of integers and one division, so that every language computes identical
 * bits. The first 10,006 are distinct, at least 2e-4 apart and 1e-4 away from 0: no maximum and no relu is near its kink.
 * `test/golden/operators.py` has the same function.
 */
export function fill(shape: readonly number[], seed: number): Float32Array {
  const step = 7919 + 104 * seed;
  return Float32Array.from(
    { length: sizeOf(shape) },
    (_, place) => ((step * (place + 1)) % 10007) / 5003.5 - 1,
  );
}

/** The same, in three levels −1, 0, 1: full of ties. */
export function fillCoarse(shape: readonly number[], seed: number): Float32Array {
  const step = 7919 + 104 * seed;
  return Float32Array.from({ length: sizeOf(shape) }, (_, place) => (((step * (place + 1)) % 10007) % 3) - 1);
}

/** Class labels 0 … depth − 1. */
export function fillClasses(count: number, depth: number, seed: number): BigInt64Array {
  return BigInt64Array.from({ length: count }, (_, place) => BigInt((7 * place + seed) % depth));
}

/** Three levels, NaN and both infinities, of which −Infinity fills whole windows. */
export function fillNotFinite(shape: readonly number[], seed: number): Float32Array {
  const step = 7919 + 104 * seed;
  const coarse = fillCoarse(shape, seed);
  return coarse.map((level, place) => {
    const kind = ((step * (place + 1)) % 10007) % 13;
    if (kind <= 6) return -Infinity;
    return kind === 7 ? Infinity : kind === 8 ? NaN : level;
  });
}
