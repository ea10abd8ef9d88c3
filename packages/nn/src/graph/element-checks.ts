import type { TensorData } from '../dtype.ts';
import type { Value } from './node.ts';
import type { Source } from './source.ts';
import { sourceOfLeaf } from './source-of-leaf.ts';

/** A check of the elements of a leaf. */
export interface ElementCheck {
  readonly source: Source;
  readonly check: (elements: TensorData) => void;
}

/** What a call did with the elements of leaves. */
export interface ElementUse<Result> {
  readonly result: Result;
  readonly checks: readonly ElementCheck[];
  /** Whether its result may depend on elements otherwise than through the graph. */
  readonly readsElements: boolean;
}

/** Of the call that is recorded; undefined outside of one. */
let recorded: { checks: ElementCheck[]; readsElements: boolean } | undefined;

/**
 * Checks the elements of a leaf, of which a graph depends on the types only. Does nothing for computed values, which are
 * unknown before the graph runs.
 *
 * @param check throws if the elements cannot be used
 */
export function checkElements(value: Value, check: (elements: TensorData) => void): void {
  const source = sourceOfLeaf(value);
  if (source === undefined) return;
  check(source.data);
  recorded?.checks.push({ source, check });
}

/** The elements of a leaf, which decide about what follows; undefined for computed values. */
export function readElements(value: Value): TensorData | undefined {
  const source = sourceOfLeaf(value);
  if (source === undefined) return undefined;
  recordElementRead();
  return source.data;
}

/** The call that is recorded knows elements, and may do something else for others. */
export function recordElementRead(): void {
  if (recorded) recorded.readsElements = true;
}

/** Calls a function, and collects the checks that it makes, to repeat them for the leaves of other calls. */
export function elementUseOf<Result>(call: () => Result): ElementUse<Result> {
  const outer = recorded;
  const own: NonNullable<typeof recorded> = { checks: [], readsElements: false };
  recorded = own;
  try {
    return { result: call(), ...own };
  } finally {
    recorded = outer;
  }
}
