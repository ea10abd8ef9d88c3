import type { RandomStates, Stateful } from 'ringrun';

/** Read by ringrun's checkpoints. This package imports only ringrun's types and may be loaded first. */
const registry = Symbol.for('ringrun.randomStates');

/** Adds the generator's state to checkpoints, so that dropout after a resume matches an uninterrupted run. */
export function registerRandomState(generator: Stateful): void {
  const global = globalThis as unknown as Record<symbol, RandomStates | undefined>;
  global[registry] ??= new Map();
  global[registry].set('nn', generator);
}
