import { getRank, getWorldSize, isInitialized } from '../process-group/index.ts';
import type { UnaveragedGradientObserver } from './distributed-module.ts';

/** One per process, however many copies of this module it loads; libraries know it by its name. */
const observer = Symbol.for('ringrun.unaveragedGradient');

/**
 * From now on the first gradient that no DistributedDataParallel averages, in a group of several ranks, is told on stderr, once per process: without the wrapper
 * every rank trains a model of its own, and nothing else shows it.
 */
export function warnOfUnaveragedGradients(): void {
  const registry = globalThis as unknown as Record<symbol, UnaveragedGradientObserver | undefined>;
  if (registry[observer] !== undefined) return;
  let told = false;
  registry[observer] = () => {
    if (told || !isInitialized() || getWorldSize() === 1) return;
    told = true;
    process.stderr.write(
      `ringrun: rank ${getRank()} of ${getWorldSize()} computed gradients that nothing averages over the ranks, so each trains a model of its own. ` +
        'Wrap the model: const ddp = new DistributedDataParallel(model). (said once per process)\n',
    );
  };
}
