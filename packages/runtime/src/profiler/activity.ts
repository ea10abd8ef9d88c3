import { ddpEvents } from '../ddp/events.ts';

/**
 * How a rank spends its time.
 *
 * - `input`: the loop waits for its next batch
 * - `compute`: a compiled program runs
 * - `communication`: a collective is in progress, from its call until this rank detects its end
 * - `waiting`: the step is blocked by a collective; shorter than `communication` if averaging overlaps with
 * computation
 * - `function`: a function recorded by `recordFunction`
 * - `step`: from one `step()` of the profiler to the next
 */
export type Lane = 'step' | 'input' | 'compute' | 'waiting' | 'communication' | 'function';

/** Figures that a trace shows with an activity, such as the bytes of a collective. */
export type ActivityDetails = Readonly<Record<string, string | number>>;

/**
 * Receives activities, in milliseconds of `performance.now()`. ringrun sets
 * `globalThis[Symbol.for('ringrun.activityObserver')]` when it is loaded, because libraries import only types
 * of ringrun.
 */
export type ActivityObserver = (
  lane: Lane,
  name: string,
  startedAt: number,
  endedAt: number,
  details?: ActivityDetails,
) => void;

/**
 * Milliseconds per lane since the process started. Always measured: two clock readings and an addition per
 * activity.
 */
export type Totals = Record<Lane, number>;

interface Measuring {
  readonly totals: Totals;
  /** The recorder of single activities, if any. */
  recorder: ActivityObserver | undefined;
}

/** One per process, even if it loads several copies of this module. */
const registry = globalThis as unknown as Record<symbol, unknown>;
const measuring = (registry[Symbol.for('ringrun.measuring')] ??= {
  totals: { step: 0, input: 0, compute: 0, waiting: 0, communication: 0, function: 0 },
  recorder: undefined,
}) as Measuring;
registry[Symbol.for('ringrun.activityObserver')] ??= recordActivity;

/** Records an activity from `startedAt` to `endedAt`. */
export function recordActivity(
  lane: Lane,
  name: string,
  startedAt: number,
  endedAt: number,
  details?: ActivityDetails,
): void {
  measuring.totals[lane] += endedAt - startedAt;
  measuring.recorder?.(lane, name, startedAt, endedAt, details);
}

/** Records the time that training with DistributedDataParallel waits for other ranks. */
export function recordWaits(): void {
  ddpEvents.on('waited', (awaited, startedAt, endedAt, step) => {
    recordActivity('waiting', awaited, startedAt, endedAt, step === undefined ? undefined : { step });
  });
}

/** Returns a copy of the current totals. */
export function totalsSoFar(): Totals {
  return { ...measuring.totals };
}

export function recorder(): ActivityObserver | undefined {
  return measuring.recorder;
}

/** Sets the recorder of single activities; undefined removes it. */
export function recordWith(next: ActivityObserver | undefined): void {
  measuring.recorder = next;
}
