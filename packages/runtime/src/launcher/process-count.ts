import { readdirSync } from 'node:fs';
import { readUsableCpus } from './cpus.ts';
import { CommandError } from './launch-error.ts';
import type { ProcessesPerNode } from './options/launch-options.ts';

/**
 * Number of workers on this node.
 *
 * @throws CommandError for `gpu` on a node without GPUs.
 */
export function readProcessCount(requested: ProcessesPerNode): number {
  return countProcesses(requested, readUsableCpus(), readGpus());
}

/** Same rules as torchrun, except that torchrun counts all CPUs of the machine. */
export function countProcesses(requested: ProcessesPerNode, cpus: number, gpus: number): number {
  if (typeof requested === 'number') return requested;
  if (requested === 'gpu' && gpus === 0) {
    throw new CommandError(
      1,
      '--nproc-per-node gpu: expected at least one GPU on this node, got none: /dev/nvidia0 does not exist, or CUDA_VISIBLE_DEVICES or ' +
        'NVIDIA_VISIBLE_DEVICES hides it. Pass a number, cpu, or auto to use CPUs on nodes without GPUs.',
    );
  }
  return requested === 'cpu' || gpus === 0 ? cpus : gpus;
}

/** NVIDIA GPUs that a process on this node can use, counted by device files, without a library. */
function readGpus(): number {
  let devices: string[] = [];
  try {
    devices = readdirSync('/dev');
  } catch {
    // No /dev, no GPU.
  }
  return countGpus(devices, process.env);
}

/**
 * Counts the GPUs in /dev (`nvidia0`, …) that the environment does not hide.
 *
 * CUDA_VISIBLE_DEVICES is a list of numbers or UUIDs. CUDA ignores entries after an invalid one, and shows no device if
 * one occurs twice. NVIDIA_VISIBLE_DEVICES is read by the container runtime, which creates the device files; here only
 * `none` and `void` matter, for privileged containers, which see all files.
 */
export function countGpus(devices: readonly string[], env: NodeJS.ProcessEnv): number {
  const present = devices.filter((name) => /^nvidia\d+$/.test(name)).length;
  const ofContainer = env['NVIDIA_VISIBLE_DEVICES']?.trim();
  if (ofContainer === 'none' || ofContainer === 'void') return 0;
  const visible = env['CUDA_VISIBLE_DEVICES'];
  return visible === undefined || present === 0 ? present : countVisible(visible, present);
}

function countVisible(list: string, present: number): number {
  const entries = list.split(',').map((entry) => entry.trim());
  const isValid = (entry: string) =>
    /^\d+$/.test(entry) ? Number(entry) < present : /^(?:GPU|MIG)-[\w/-]+$/.test(entry);
  const end = entries.findIndex((entry) => !isValid(entry));
  const named = end < 0 ? entries : entries.slice(0, end);
  // CUDA shows no device if one occurs twice.
  return new Set(named).size === named.length ? named.length : 0;
}
