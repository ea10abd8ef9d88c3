/** A point of a curve over steps. */
export interface AtStep {
  readonly step: number;
}

/** A point of the curves of loss and rate. */
export interface Point extends AtStep {
  readonly loss: number;
  /** Samples per second of all ranks. */
  readonly rate: number;
}

/** A curve of the whole training in bounded memory. */
export interface Curve<P extends AtStep = Point> {
  readonly points: readonly P[];
  /** One of this many points is kept. */
  readonly every: number;
  /** Points since the last one that was kept. */
  readonly skipped: number;
}

export const emptyCurve: Curve<never> = { points: [], every: 1, skipped: 0 };

const defaultMaxPoints = 400;

/**
 * Adds a point. A full curve keeps every second point, so that it covers the whole training. A job that was restarted
 * continues from its checkpoint, and replaces the points from there on.
 *
 * @param maxPoints At least 2. Default: 400.
 */
export function extended<P extends AtStep>(
  curve: Curve<P>,
  point: P,
  maxPoints = defaultMaxPoints,
): Curve<P> {
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
