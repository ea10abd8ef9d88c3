import { readUsableCpus } from './cpus.ts';
import { readGpus } from './gpus.ts';
import { LaunchError } from './launch-error.ts';
import type { ProcessesPerNode } from './options/launch-options.ts';

/**
 * Number of workers on this node.
 *
 * @throws LaunchError for `gpu` on a node without GPUs.
 */
export function readProcessCount(asked: ProcessesPerNode): number {
  return countProcesses(asked, readUsableCpus(), readGpus());
}

/** Same rules as torchrun, except that torchrun counts all CPUs of the machine. */
export function countProcesses(asked: ProcessesPerNode, cpus: number, gpus: number): number {
  if (typeof asked === 'number') return asked;
  if (asked === 'gpu' && gpus === 0) {
    throw new LaunchError(
      1,
      '--nproc-per-node gpu: expected at least one GPU on this node, got none: /dev/nvidia0 does not exist, or CUDA_VISIBLE_DEVICES or ' +
        'NVIDIA_VISIBLE_DEVICES hides it. Pass a number, cpu, or auto to use CPUs on nodes without GPUs.',
    );
  }
  return asked === 'cpu' || gpus === 0 ? cpus : gpus;
}
