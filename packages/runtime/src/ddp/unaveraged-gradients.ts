import { getRank, getWorldSize, isInitialized } from '../process-group/index.ts';
import type { UnaveragedGradientObserver } from './distributed-module.ts';

/**
 * Libraries call the observer under this name. One per process, even if it loads several copies of this
 * module.
 */
const observer = Symbol.for('ringrun.unaveragedGradient');

/**
 * Installs a warning, printed once per process, for a gradient that DistributedDataParallel does not average
 * in a group of several ranks. Without the wrapper every rank trains a separate model, and nothing else shows
 * it.
 */
export function installUnaveragedGradientWarning(): void {
  const registry = globalThis as unknown as Record<symbol, UnaveragedGradientObserver | undefined>;
  if (registry[observer] !== undefined) return;
  let isPrinted = false;
  registry[observer] = () => {
    if (isPrinted || !isInitialized() || getWorldSize() === 1) return;
    isPrinted = true;
    process.stderr.write(
      `ringrun: rank ${getRank()} of ${getWorldSize()} computed gradients that are not averaged over the ranks, so each rank trains a separate model. ` +
        'Wrap the model: const ddp = new DistributedDataParallel(model). (Printed once per process.)\n',
    );
  };
}
