import { registry } from './registry.ts';

/**
 * How a rank spends its time.
 *
 * - `input`: the loop waits for its next batch
 * - `compute`: a compiled program runs
 * - `communication`: a collective is in progress, from its call until this rank detects its end
 * - `waiting`: the step is blocked by a collective; shorter than `communication` if averaging overlaps with computation
 * - `function`: a function recorded by `recordFunction`
 * - `step`: from one `step()` of the profiler to the next
 */
export type Lane = 'step' | 'input' | 'compute' | 'waiting' | 'communication' | 'function';

/** Figures that a trace shows with an activity, such as the bytes of a collective. */
export type ActivityDetails = Readonly<Record<string, string | number>>;

/** Receives activities, in milliseconds of `performance.now()`. */
export type ActivityObserver = (
  lane: Lane,
  name: string,
  startedAt: number,
  endedAt: number,
  details?: ActivityDetails,
) => void;

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
