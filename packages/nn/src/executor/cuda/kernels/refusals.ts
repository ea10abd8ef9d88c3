/** An element that a kernel refused by `refuse` (prelude.ts). */
export interface RefusedElement {
  /** Index of the first such element. */
  readonly place: number;
  readonly got: string;
}

/** Bytes of a cell: two words of 64 bits. */
export const refusalBytes = 16;

/** Bytes of the flag and the kept cells of a program: see keep-refusals.ts. */
export function keptBytes(cells: number): number {
  return 8 + refusalBytes * cells;
}

/** The cell at an index: the second word above the first. 0: nothing was refused. */
export function refusalIn(cells: BigUint64Array, index: number): bigint {
  return (cells[2 * index + 1] << 64n) | cells[2 * index];
}

export function refusedElement(found: bigint): RefusedElement {
  const element = (lowerHalf(found >> 64n) << 32n) | lowerHalf(found);
  return { place: placeOf(found), got: String(BigInt.asIntN(64, element)) };
}

/** The same for a float32, whose bits were recorded. */
export function refusedBits(found: bigint): { readonly place: number; readonly number: number } {
  const [number] = new Float32Array(Uint32Array.of(Number(lowerHalf(found))).buffer);
  return { place: placeOf(found), number };
}

const lowerHalf = (word: bigint): bigint => BigInt.asUintN(32, word);

function placeOf(found: bigint): number {
  return 2 ** 31 - 1 - Number(lowerHalf(found >> 32n));
}
