import { readdirSync } from 'node:fs';

/** NVIDIA GPUs that a process on this node can use, counted by device files, without a library. */
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
