import { DistributedDataParallel } from './distributed-data-parallel.ts';

/**
 * `globalThis[Symbol.for('ringrun.distributedDataParallel')]`, set when ringrun is loaded. Libraries that
 * wrap models themselves and import only types of ringrun find DistributedDataParallel there. If a process
 * loads several copies of ringrun, the first one, whose groups `ringrun.defaultGroup` holds, sets it.
 */
export type DistributedDataParallelRegistry = typeof DistributedDataParallel;

const registered = Symbol.for('ringrun.distributedDataParallel');

export function registerForLibraries(): void {
  const registry = globalThis as unknown as Record<symbol, DistributedDataParallelRegistry | undefined>;
  registry[registered] ??= DistributedDataParallel;
}
