import { parsePrintable } from '@ringrun/core';
import type { Point } from './curve.ts';
import { checkEvents } from './event-log.ts';
import type { JobView } from './job-view.ts';
import type { ScalarCurve } from './scalars.ts';
import { maxScalars } from '../worker/rank-scalars.ts';

/** The page and `ringrun top` show at most this many ranks: the ones that wait least, which are the slowest. */
const maxRanks = 64;
const maxMissing = 64;

/** The body of `/status.json`. */
export interface Status extends JobView {
  readonly curve: readonly Point[];
  readonly scalars: readonly ScalarCurve[];
  /** Number of ranks that are left out. */
  readonly hidden: number;
  /** Number of scalars that are left out. */
  readonly hiddenScalars: number;
}

/** The curves that a dashboard has collected. */
export interface Curves {
  readonly curve: readonly Point[];
  readonly scalars: readonly ScalarCurve[];
  readonly hiddenScalars: number;
}

/**
 * The view and the curves, limited to the ranks that fit on a page.
 *
 * @param curves Default: no curves, and the last values of the scalars.
 */
export function statusOf(view: JobView, curves: Curves = curvesWithoutPoints(view)): Status {
  const slowestFirst = view.ranks.toSorted(
    (a, b) => Number(b.state === 'silent') - Number(a.state === 'silent') || a.waiting - b.waiting,
  );
  const shown = slowestFirst.slice(0, maxRanks).sort((a, b) => a.rank - b.rank);
  const missing = view.missing.slice(0, maxMissing);
  return { ...view, ranks: shown, missing, ...curves, hidden: view.ranks.length - shown.length };
}

/** Of a reader of files, which sees the last figures only. */
function curvesWithoutPoints({ scalars }: JobView): Curves {
  const shown = scalars.slice(0, maxScalars).map((scalar) => ({ ...scalar, points: [] }));
  return { curve: [], scalars: shown, hiddenScalars: scalars.length - shown.length };
}

export function formatStatus(view: JobView, curves: Curves): string {
  return JSON.stringify(statusOf(view, curves));
}

/** Parses the answer of a dashboard of this version. All of its texts are printable. */
export function parseStatus(text: string): Status | undefined {
  try {
    const status = parsePrintable(text) as Partial<Status> | null;
    const isStatus = Array.isArray(status?.ranks) && Array.isArray(status.missing);
    return isStatus ? ({ ...status, events: checkEvents(status.events) } as Status) : undefined;
  } catch {
    return undefined;
  }
}
