import { availableParallelism } from 'node:os';
import { readCpuQuota } from './cgroup.ts';

/** CPUs that this process may keep busy: its affinity, and what the cgroup's quota leaves of it. */
export function readUsableCpus(): number {
  return usableCpus(availableParallelism(), readCpuQuota());
}

/** Rounded down, at least 1: a thread beyond the quota makes the kernel stop all of them for part of every period. */
export function usableCpus(affinity: number, quota: number | undefined): number {
  return Math.max(1, Math.floor(Math.min(affinity, quota ?? Infinity)));
}
