import { printable } from '@ringrun/core';

/** Names of scalars that a rank publishes, and that the dashboard keeps. Further names are left out. */
export const maxScalars = 64;
/** Points of a scalar in one record: those of about a second. */
export const maxRecentPoints = 10;
const maxNameCharacters = 200;

/** A scalar that the script of a rank reports, such as an accuracy. */
export interface RankScalar {
  readonly name: string;
  /** Number of points that the process has added so far. */
  readonly count: number;
  /** The last of them, the oldest first. The values may be NaN or infinite. */
  readonly points: readonly (readonly [step: number, value: number])[];
}

/** The scalars in a record that another process has written. Those that are incomplete are left out. */
export function checkScalars(value: unknown): RankScalar[] {
  const byName = new Map<string, RankScalar>();
  for (const one of Array.isArray(value) ? (value as unknown[]).slice(0, maxScalars) : []) {
    const { name, count, points } = Object(one) as Record<string, unknown>;
    const isComplete = typeof name === 'string' && name !== '' && isCount(count) && Array.isArray(points);
    if (!isComplete) continue;
    const shown = printable(name, maxNameCharacters);
    const checked = (points as unknown[]).slice(-maxRecentPoints).flatMap(checkPoint);
    if (checked.length > 0 && !byName.has(shown)) byName.set(shown, { name: shown, count, points: checked });
  }
  return [...byName.values()];
}

function checkPoint(point: unknown): [step: number, value: number][] {
  const [step, value] = Array.isArray(point) ? (point as unknown[]) : [];
  return Number.isSafeInteger(step) && value !== undefined ? [[step as number, Number(value)]] : [];
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
