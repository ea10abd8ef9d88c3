import type { RandomStates, Stateful } from 'ringrun';

/** ringrun's checkpoints look here; this package imports only its types, and may be loaded first. */
const registry = Symbol.for('ringrun.randomStates');

/** From now on checkpoints hold where the generator is, so that after a resume dropout goes on as if nothing had happened. */
export function registerRandomState(generator: Stateful): void {
  const global = globalThis as unknown as Record<symbol, RandomStates | undefined>;
  global[registry] ??= new Map();
  global[registry].set('nn', generator);
}
