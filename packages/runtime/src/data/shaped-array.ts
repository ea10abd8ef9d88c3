import type { NumericArray } from './numeric-array.ts';

/** An array with its shape, such as an image of [1, 28, 28]. */
export interface ShapedArray<Data extends NumericArray = NumericArray> {
  /** Elements in row-major order. */
  readonly data: Data;
  /** Length of each dimension; the product is `data.length`. */
  readonly shape: readonly number[];
}
