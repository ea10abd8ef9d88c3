import { sizeOf } from '../../src/value-type.ts';

/** Different numbers from −1 to 1, of few bits. */
export function numbers(shape: readonly number[], seed: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: sizeOf(shape) }, (_, i) => (((i * 37 + seed * 11) % 127) - 63) / 64);
}
