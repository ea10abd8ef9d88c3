import { readdirSync } from 'node:fs';

/** NVIDIA's GPUs that a process started here can use: device files, without a library. */
export function readGpus(): number {
  let devices: string[] = [];
  try {
    devices = readdirSync('/dev');
  } catch {
    // No /dev, no GPU.
  }
  return countGpus(devices, process.env);
}

/**
 * GPUs by the names in /dev (`nvidia0`, …) and what the environment leaves of them.
 *
 * CUDA_VISIBLE_DEVICES is CUDA's: a list of numbers or of UUIDs, in which what follows an invalid entry does not count, nor does one that is named twice.
 * NVIDIA_VISIBLE_DEVICES is the container runtime's, which makes the device files by it: it only matters where it says none, in images that run as
 * privileged and see all files.
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
  // CUDA shows no device at all where one is named twice.
  return new Set(named).size === named.length ? named.length : 0;
}
