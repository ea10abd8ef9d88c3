import type { ActivityObserver } from 'ringrun';

/** ringrun fills it where it is loaded; this package imports only its types. */
const observer = Symbol.for('ringrun.activityObserver');
const registry = globalThis as unknown as Record<symbol, ActivityObserver | undefined>;

/** Runs something and tells whoever measures, how long it took; costs a look-up where nobody does. */
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
