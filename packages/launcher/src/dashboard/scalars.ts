import { maxScalars } from '../worker/rank-scalars.ts';
import type { RankScalar } from '../worker/rank-scalars.ts';
import { emptyCurve, extended } from './curve.ts';
import type { AtStep, Curve } from './curve.ts';
import type { AgedFigures } from './job-figures.ts';

/** The last value of a scalar that the script reports. */
export interface Scalar {
  readonly name: string;
  readonly step: number;
  /** Null if it is not finite. */
  readonly value: number | null;
}

/** A scalar with its curve. */
export interface ScalarCurve extends Scalar {
  readonly points: readonly (readonly [step: number, value: number])[];
}

/** A scalar, and the process that reports it. */
interface SourcedScalar extends RankScalar {
  readonly source: string;
}

/** Each scalar of the lowest rank that reports it: the names of rank 0 first, in the order of their first points. */
export function scalarsOf(ranks: readonly AgedFigures[]): SourcedScalar[] {
  const byName = new Map<string, SourcedScalar>();
  for (const { scalars = [], restartCount, rank, pid } of ranks) {
    for (const one of scalars) {
      if (!byName.has(one.name)) byName.set(one.name, { ...one, source: `${restartCount} ${rank} ${pid}` });
    }
  }
  return [...byName.values()];
}

export function lastOf({ name, points }: RankScalar): Scalar {
  const [step, value] = points[points.length - 1];
  return { name, step, value: Number.isFinite(value) ? value : null };
}

/** Fewer than those of the loss: there may be 64 of these curves in each answer. */
const maxPoints = 200;
const digits = 6;

interface Kept {
  readonly last: Scalar;
  readonly source: string;
  /** Points of the source that the curve has. */
  readonly count: number;
  readonly curve: Curve<AtStep & { readonly value: number }>;
}

/** The curves of the scalars of a job, in bounded memory: 64 names of 200 points. They stay when workers restart. */
export class ScalarCurves {
  readonly #byName = new Map<string, Kept>();
  #left = 0;

  /** Adds the points that are new in the figures of the ranks. Values that are not finite have no point. */
  extend(ranks: readonly AgedFigures[]): void {
    const current = scalarsOf(ranks);
    this.#makeRoom(current.map(({ name }) => name));
    this.#left = 0;
    for (const scalar of current) {
      if (!this.#byName.has(scalar.name) && this.#byName.size >= maxScalars) this.#left += 1;
      else this.#byName.set(scalar.name, withNewPoints(this.#byName.get(scalar.name), scalar));
    }
  }

  get list(): ScalarCurve[] {
    return [...this.#byName.values()].map(({ last, curve }) => ({
      ...last,
      points: curve.points.map(({ step, value }) => [step, Number(value.toPrecision(digits))]),
    }));
  }

  /** Number of scalars that have no room. */
  get left(): number {
    return this.#left;
  }

  /** Drops names that only processes of earlier rounds have reported, if new names need their room. */
  #makeRoom(names: readonly string[]): void {
    let surplus = this.#byName.size + names.filter((name) => !this.#byName.has(name)).length - maxScalars;
    const current = new Set(names);
    for (const name of [...this.#byName.keys()]) {
      if (surplus <= 0) return;
      if (!current.has(name) && this.#byName.delete(name)) surplus -= 1;
    }
  }
}

function withNewPoints(kept: Kept | undefined, scalar: SourcedScalar): Kept {
  const { source, count, points } = scalar;
  const added = count - (kept?.source === source ? kept.count : 0);
  let curve = kept?.curve ?? emptyCurve;
  if (added > 0) for (const [step, value] of points.slice(-added)) curve = withPoint(curve, step, value);
  return { last: lastOf(scalar), source, count, curve };
}

function withPoint(curve: Kept['curve'], step: number, value: number): Kept['curve'] {
  if (!Number.isFinite(value)) return curve;
  const point = { step, value };
  // A step that is reported again has its last value.
  if (curve.points.at(-1)?.step === step) return { ...curve, points: [...curve.points.slice(0, -1), point] };
  return extended(curve, point, maxPoints);
}
