/** Copies arrays next to each other, into one of their length together. */
export function joinArrays<A extends Float32Array | Uint8Array>(arrays: readonly A[], into: A): A {
  let begin = 0;
  for (const array of arrays) {
    into.set(array, begin);
    begin += array.length;
  }
  return into;
}

/** Copies what `joinArrays` has joined back into the arrays. */
export function splitArray<A extends Float32Array | Uint8Array>(joined: A, arrays: readonly A[]): void {
  let begin = 0;
  for (const array of arrays) {
    array.set(joined.subarray(begin, begin + array.length));
    begin += array.length;
  }
}

/** The number of elements of the arrays together. */
export const lengthOf = (arrays: readonly { length: number }[]): number =>
  arrays.reduce((sum, { length }) => sum + length, 0);
