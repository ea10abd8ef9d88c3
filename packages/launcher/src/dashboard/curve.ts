/** A point of the curves of loss and rate over steps. */
export interface Point {
  readonly step: number;
  readonly loss: number;
  /** Samples per second of all ranks. */
  readonly rate: number;
}

/** A curve of the whole training in bounded memory. */
export interface Curve {
  readonly points: readonly Point[];
  /** One of this many points is kept. */
  readonly every: number;
  /** Points since the last one that was kept. */
  readonly skipped: number;
}

export const emptyCurve: Curve = { points: [], every: 1, skipped: 0 };

const maxPoints = 400;

/**
 * Adds a point. A full curve keeps every second point, so that it covers the whole training. A job that was restarted
 * continues from its checkpoint, and replaces the points from there on.
 */
export function extended(curve: Curve, point: Point): Curve {
  const last = curve.points.at(-1);
  if (last !== undefined && point.step === last.step) return curve;
  if (last !== undefined && point.step < last.step) {
    const kept = curve.points.filter(({ step }) => step < point.step);
    return { ...curve, points: [...kept, point], skipped: 0 };
  }
  const skipped = curve.skipped + 1;
  if (last !== undefined && skipped < curve.every) return { ...curve, skipped };
  const points = [...curve.points, point];
  if (points.length < maxPoints) return { ...curve, points, skipped: 0 };
  return { points: points.filter((_, index) => index % 2 === 0), every: 2 * curve.every, skipped: 0 };
}
