import type { UnaveragedGradientObserver } from 'ringrun';

/** Set by ringrun when it is loaded; this package imports only ringrun's types. */
const observer = Symbol.for('ringrun.unaveragedGradient');

/** Reports a gradient outside of DistributedDataParallel, which is not averaged over ranks. */
export function tellOfUnaveragedGradient(): void {
  const registry = globalThis as unknown as Record<symbol, UnaveragedGradientObserver | undefined>;
  registry[observer]?.();
}
