import { readUsableCpus } from './cpus.ts';
import { readGpus } from './gpus.ts';
import { LaunchError } from './launch-error.ts';
import type { ProcessesPerNode } from './options/launch-options.ts';

/**
 * How many workers this node runs.
 *
 * @throws LaunchError for `gpu` where there is none.
 */
export function readProcessCount(asked: ProcessesPerNode): number {
  return countProcesses(asked, readUsableCpus(), readGpus());
}

/** torchrun's rules, but for CPUs, of which it counts all of the machine. */
export function countProcesses(asked: ProcessesPerNode, cpus: number, gpus: number): number {
  if (typeof asked === 'number') return asked;
  if (asked === 'gpu' && gpus === 0) {
    throw new LaunchError(
      1,
      '--nproc-per-node gpu asks for one process per GPU, but this node has none: there is no /dev/nvidia0, or CUDA_VISIBLE_DEVICES or ' +
        'NVIDIA_VISIBLE_DEVICES hides it. Give a number, cpu, or auto for CPUs where there are no GPUs.',
    );
  }
  return asked === 'cpu' || gpus === 0 ? cpus : gpus;
}
