import { registry, type DistributedDataParallelClass, type ProcessGroup } from '@ringrun/core';
import { TfjsError } from './errors.ts';

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

export function requireDistributedDataParallel(): DistributedDataParallelClass {
  const wrapper = registry.distributedDataParallel;
  if (wrapper !== undefined) return wrapper;
  throw new TfjsError('ERR_NOT_INITIALIZED', 'ringrun is not loaded. Import it before training.');
}
