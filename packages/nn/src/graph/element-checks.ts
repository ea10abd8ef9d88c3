import type { TensorData } from '../dtype.ts';
import type { Value } from './node.ts';
import type { Source } from './source.ts';
import { sourceOfLeaf } from './source-of-leaf.ts';

/** A check of the elements of a leaf. */
export interface ElementCheck {
  readonly source: Source;
  readonly check: (elements: TensorData) => void;
}

/** Records how a call used the elements of leaves. */
export interface ElementUse<Result> {
  readonly result: Result;
  readonly checks: readonly ElementCheck[];
  /** True if its result may depend on elements in ways that the graph does not show. */
  readonly readsElements: boolean;
}

/** The record of the current call; undefined outside of a recorded call. */
let recorded: { checks: ElementCheck[]; readsElements: boolean } | undefined;

/**
 * Checks the elements of a leaf, because a graph depends only on their types. Does nothing for computed values, which are
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

/** The elements of a leaf, which decide how the caller continues; undefined for computed values. */
export function readElements(value: Value): TensorData | undefined {
  const source = sourceOfLeaf(value);
  if (source === undefined) return undefined;
  recordElementRead();
  return source.data;
}

/** The recorded call reads elements and may behave differently for others. */
export function recordElementRead(): void {
  if (recorded) recorded.readsElements = true;
}

/** True inside `elementUseOf`: later calls bind other elements to the leaves. */
export function isRecordingElementUse(): boolean {
  return recorded !== undefined;
}

/** Calls a function and collects its checks, to repeat them for the leaves of other calls. */
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
