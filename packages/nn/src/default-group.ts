import type { DefaultGroupRegistry } from 'ringrun';

/** The default process group, set by ringrun; this package imports only ringrun's types. */
export function defaultGroup(): DefaultGroupRegistry['group'] {
  const registry = globalThis as unknown as Record<symbol, DefaultGroupRegistry | undefined>;
  return registry[Symbol.for('ringrun.defaultGroup')]?.group;
}
