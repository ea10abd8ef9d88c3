import { registry } from './registry.ts';

/**
 * Libraries call it when they have written the gradient of a parameter without a `gradientSink`. In a group of several
 * ranks it prints a warning, once per process: without DistributedDataParallel every rank trains a separate model, and
 * no other message reports it.
 */
export function warnOfUnaveragedGradient(): void {
  const { defaultGroup: group } = registry;
  if (registry.unaveragedGradientWasReported || group === undefined || group.size === 1) return;
  registry.unaveragedGradientWasReported = true;
  process.stderr.write(
    `ringrun: rank ${group.rank} of ${group.size} computed gradients that are not averaged over the ranks, so each rank trains a separate model. ` +
      'Wrap the model: const ddp = new DistributedDataParallel(model). (Printed once per process.)\n',
  );
}

/** For wrappers whose ranks exchange parameters instead of gradients: the warning does not apply. */
export function allowUnaveragedGradients(): void {
  registry.unaveragedGradientWasReported = true;
}
