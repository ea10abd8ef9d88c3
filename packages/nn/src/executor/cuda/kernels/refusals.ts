/** An element that a kernel refused by `refuse` (prelude.ts). */
export interface RefusedElement {
  /** Index of the first such element. */
  readonly place: number;
  /** The element. Integers beyond 32 bits are `at least 2147483647` or `at most -2147483648`. */
  readonly got: string;
}

export function refusedElement(found: bigint): RefusedElement {
  const element = Number(BigInt.asIntN(32, found));
  const limit = element === most ? 'at least ' : element === -most - 1 ? 'at most ' : '';
  return { place: most - Number(found >> 32n), got: `${limit}${element}` };
}

const most = 2 ** 31 - 1;

/** The same for a float32, whose bits were recorded. */
export function refusedBits(found: bigint): { readonly place: number; readonly number: number } {
  const [number] = new Float32Array(Int32Array.of(Number(BigInt.asIntN(32, found))).buffer);
  return { place: most - Number(found >> 32n), number };
}
