import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** The time of a process. Simulations have their own. Milliseconds. */
export interface Clock {
  /** Never goes backwards. */
  now(): number;
  /** Since the epoch. Only dates messages: it may jump. */
  wall(): number;
  /** Rejects when the signal aborts. */
  delay(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `act` once, unless the returned function is called before. */
  after(ms: number, act: () => void): () => void;
  /** Calls `act` until the returned function is called. Does not keep the process running. */
  every(ms: number, act: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  delay: (ms, signal) => delay(ms, undefined, { signal }),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => {
      clearTimeout(timer);
    };
  },
  every: (ms, act) => {
    const timer = setInterval(act, ms).unref();
    return () => {
      clearInterval(timer);
    };
  },
};

/** Calls `act` until the signal aborts, so many milliseconds after it has ended the last time. */
export async function repeat(
  clock: Clock,
  intervalMs: number,
  signal: AbortSignal,
  act: () => Promise<void> | void,
): Promise<void> {
  while (!signal.aborted) {
    await act();
    await clock.delay(intervalMs, signal).catch(() => undefined);
  }
}
