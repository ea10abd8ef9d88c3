import type { UnaveragedGradientObserver } from 'ringrun';

/** ringrun fills it where it is loaded; this package imports only its types. */
const observer = Symbol.for('ringrun.unaveragedGradient');

/** A gradient is in an array of the library's own, where nobody averages it over ranks. */
export function tellOfUnaveragedGradient(): void {
  const registry = globalThis as unknown as Record<symbol, UnaveragedGradientObserver | undefined>;
  registry[observer]?.();
}
