import { parsePrintable } from '@ringrun/core';
import type { Point } from './curve.ts';
import { checkEvents } from './event-log.ts';
import type { JobView } from './job-view.ts';

/** The page and `ringrun top` show at most this many ranks: the ones that wait least, which are the slowest. */
const maxRanks = 64;
const maxMissing = 64;

/** The body of `/status.json`. */
export interface Status extends JobView {
  readonly curve: readonly Point[];
  /** Number of ranks that are left out. */
  readonly hidden: number;
}

/** The view and the curves, limited to the ranks that fit on a page. */
export function statusOf(view: JobView, curve: readonly Point[]): Status {
  const slowestFirst = view.ranks.toSorted(
    (a, b) => Number(b.state === 'silent') - Number(a.state === 'silent') || a.waiting - b.waiting,
  );
  const shown = slowestFirst.slice(0, maxRanks).sort((a, b) => a.rank - b.rank);
  const missing = view.missing.slice(0, maxMissing);
  return { ...view, ranks: shown, missing, curve, hidden: view.ranks.length - shown.length };
}

export function formatStatus(view: JobView, curve: readonly Point[]): string {
  return JSON.stringify(statusOf(view, curve));
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
