import type { ActivityObserver } from 'ringrun';

/** Set by ringrun when it is loaded; this package imports only ringrun's types. */
const observer = Symbol.for('ringrun.activityObserver');
const registry = globalThis as unknown as Record<symbol, ActivityObserver | undefined>;

/** Runs a function and reports its duration to the profiler, if one is active. */
export async function observed<Result>(
  lane: 'compute' | 'waiting',
  name: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const tell = registry[observer];
  const startedAt = tell && performance.now();
  const result = await run();
  if (startedAt !== undefined) tell?.(lane, name, startedAt, performance.now());
  return result;
}
