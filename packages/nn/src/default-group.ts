import type { DefaultGroupRegistry } from 'ringrun';

/** The group of all ranks while this process is in one. ringrun says so where it is loaded; this package imports only its types. */
export function defaultGroup(): DefaultGroupRegistry['group'] {
  const registry = globalThis as unknown as Record<symbol, DefaultGroupRegistry | undefined>;
  return registry[Symbol.for('ringrun.defaultGroup')]?.group;
}
