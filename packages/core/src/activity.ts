import type { ActivityDetails, Lane } from './lane.ts';
import { registry } from './registry.ts';

/** Records an activity from `startedAt` to `endedAt`, in milliseconds of `performance.now()`. */
export function recordActivity(
  lane: Lane,
  name: string,
  startedAt: number,
  endedAt: number,
  details?: ActivityDetails,
): void {
  registry.activityTotals[lane] += endedAt - startedAt;
  registry.activityObserver?.(lane, name, startedAt, endedAt, details);
}

/** Runs a function and records the time until its promise resolves. Records nothing if it rejects. */
export async function timed<Result>(lane: Lane, name: string, run: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await run();
  recordActivity(lane, name, startedAt, performance.now());
  return result;
}

/** Runs a function and records the time until it returns. Records nothing if it throws. */
export function timedSync<Result>(lane: Lane, name: string, run: () => Result): Result {
  const startedAt = performance.now();
  const result = run();
  recordActivity(lane, name, startedAt, performance.now());
  return result;
}
