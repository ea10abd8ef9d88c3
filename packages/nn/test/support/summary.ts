import { expectClose } from './numeric.ts';

/** The summary of a tensor that `test/golden/operators.py` writes. */
export interface Summary {
  readonly samples: readonly number[];
  /** Of tensors with more elements than samples. */
  readonly sum?: number;
  readonly sizes?: number;
}

/** Differences between two implementations in float32, relative to the largest element of a tensor. */
export const tolerance = 1e-5;

export function expectSummary(what: string, actual: Float32Array, { samples, sum, sizes }: Summary): void {
  const last = actual.length - 1;
  const places =
    sizes === undefined
      ? [...actual.keys()]
      : samples.map((_, k) => Math.floor((k * last) / (samples.length - 1)));
  expectClose(
    what,
    places.map((place) => actual[place]),
    samples,
    tolerance,
  );
  if (sum === undefined || sizes === undefined) return;
  const sumOf = (value: (element: number) => number) => actual.reduce((total, x) => total + value(x), 0);
  expectClose(`${what}: sum`, [sumOf((x) => x)], [sum], tolerance, sizes);
  expectClose(`${what}: sum of sizes`, [sumOf(Math.abs)], [sizes], tolerance);
}
