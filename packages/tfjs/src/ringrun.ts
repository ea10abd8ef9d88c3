import { registry } from '@ringrun/core';
import type { DistributedDataParallelRegistry, ProcessGroup } from 'ringrun';
import { TfjsError } from './errors.ts';

// ringrun fills these registries when it is loaded; this package imports only its types.
interface Registries {
  distributedDataParallel: DistributedDataParallelRegistry;
}

const names = {
  distributedDataParallel: Symbol.for('ringrun.distributedDataParallel'),
} as const satisfies Record<keyof Registries, symbol>;

function found<Name extends keyof Registries>(name: Name): Registries[Name] | undefined {
  return (globalThis as unknown as Record<symbol, Registries[Name] | undefined>)[names[name]];
}

/** @throws TfjsError `ERR_NOT_INITIALIZED` without a process group. The message starts with `who`. */
export function requireGroup(who: string, given?: ProcessGroup): ProcessGroup {
  const group = given ?? registry.defaultGroup;
  if (group !== undefined) return group;
  throw new TfjsError(
    'ERR_NOT_INITIALIZED',
    `${who}: no process group is initialized. Import ringrun and \`await initProcessGroup()\` first, and call it before destroyProcessGroup(). ` +
      'Without a launcher, initProcessGroup() creates a group with one rank.',
  );
}

export function requireDistributedDataParallel(): DistributedDataParallelRegistry {
  const wrapper = found('distributedDataParallel');
  if (wrapper !== undefined) return wrapper;
  throw new TfjsError('ERR_NOT_INITIALIZED', 'ringrun is not loaded. Import it before training.');
}
