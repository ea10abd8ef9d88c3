import { DistributedDataParallel } from './distributed-data-parallel.ts';

/**
 * Where libraries find DistributedDataParallel that wrap models by themselves and import only types of ringrun: `globalThis[Symbol.for('ringrun.distributedDataParallel')]`,
 * once ringrun is loaded. One per process, however many copies of this module it loads, and that of the copy whose groups `ringrun.defaultGroup` holds.
 */
export type DistributedDataParallelRegistry = typeof DistributedDataParallel;

const registered = Symbol.for('ringrun.distributedDataParallel');

export function registerForLibraries(): void {
  const registry = globalThis as unknown as Record<symbol, DistributedDataParallelRegistry | undefined>;
  registry[registered] ??= DistributedDataParallel;
}
