import type { Activity } from './recorder.ts';

/**
 * Divides activities so that, in each part, one is over before the next begins, or holds it: that is what a viewer can draw in one row. Several all-reduces that
 * are under way at once come into rows of their own.
 *
 * @returns the parts, each in the order of time; as few as the first fit gives
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

/** @param open ends of what has begun, the outermost first; those that are over are taken away */
function fits({ startedAt, endedAt }: Activity, open: number[]): boolean {
  while (open.length > 0 && open.at(-1)! <= startedAt) open.pop();
  return open.length === 0 || endedAt <= open.at(-1)!;
}
