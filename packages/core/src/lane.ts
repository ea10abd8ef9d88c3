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
