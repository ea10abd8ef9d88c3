/**
 * What a rank does with its time.
 *
 * - `input`: the loop waits for its next batch
 * - `compute`: a program runs
 * - `communication`: a collective is under way, from its call until this rank knows that it has ended
 * - `waiting`: the step cannot go on before a collective has ended; where gradients are averaged while others are computed, less than `communication`
 * - `function`: what `recordFunction` names
 * - `step`: from one `step()` of the profiler to the next
 */
export type Lane = 'step' | 'input' | 'compute' | 'waiting' | 'communication' | 'function';

export type ActivityDetails = Readonly<Record<string, string | number>>;

/**
 * Told of what has happened, in milliseconds of `performance.now()`: `globalThis[Symbol.for('ringrun.activityObserver')]`, which ringrun sets where it is loaded.
 * A registry, because libraries import only types of ringrun.
 */
export type ActivityObserver = (
  lane: Lane,
  name: string,
  startedAt: number,
  endedAt: number,
  details?: ActivityDetails,
) => void;

/** Milliseconds that this process has spent on each since it began. Always counted: two readings of the clock and a sum. */
export type Totals = Record<Lane, number>;

interface Measuring {
  readonly totals: Totals;
  /** Whoever records single activities now. */
  recorder: ActivityObserver | undefined;
}

/** One per process, however many copies of this module it loads. */
const registry = globalThis as unknown as Record<symbol, unknown>;
const measuring = (registry[Symbol.for('ringrun.measuring')] ??= {
  totals: { step: 0, input: 0, compute: 0, waiting: 0, communication: 0, function: 0 },
  recorder: undefined,
}) as Measuring;
registry[Symbol.for('ringrun.activityObserver')] ??= tell;

/** Something has happened from `startedAt` to `endedAt`. */
export function tell(
  lane: Lane,
  name: string,
  startedAt: number,
  endedAt: number,
  details?: ActivityDetails,
): void {
  measuring.totals[lane] += endedAt - startedAt;
  measuring.recorder?.(lane, name, startedAt, endedAt, details);
}

/** As they are now. */
export function totalsSoFar(): Totals {
  return { ...measuring.totals };
}

export function recorder(): ActivityObserver | undefined {
  return measuring.recorder;
}

/** From now on single activities are told to it; with undefined, to nobody. */
export function recordWith(next: ActivityObserver | undefined): void {
  measuring.recorder = next;
}
