import type { Activity } from './recorder.ts';

/**
 * Divides activities into rows for a viewer. In one row, activities must be disjoint or nested, so
 * overlapping all-reduces are put into different rows.
 *
 * @returns the rows, each sorted by time, assigned by first fit
 */
export function asThreads(activities: readonly Activity[]): Activity[][] {
  const threads: { activities: Activity[]; open: number[] }[] = [];
  const inOrder = activities.toSorted((a, b) => a.startedAt - b.startedAt || b.endedAt - a.endedAt);
  for (const activity of inOrder) {
    let thread = threads.find(({ open }) => fits(activity, open));
    if (thread === undefined) threads.push((thread = { activities: [], open: [] }));
    thread.activities.push(activity);
    thread.open.push(activity.endedAt);
  }
  return threads.map((thread) => thread.activities);
}

/** @param open end times of the open activities, outermost first; expired ones are removed */
function fits({ startedAt, endedAt }: Activity, open: number[]): boolean {
  while (open.length > 0 && open.at(-1)! <= startedAt) open.pop();
  return open.length === 0 || endedAt <= open.at(-1)!;
}
