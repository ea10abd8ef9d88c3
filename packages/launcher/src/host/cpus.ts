import { availableParallelism } from 'node:os';
import { readCpuQuota } from './cgroup.ts';

/** CPUs that this process may use, by its affinity and the cgroup's quota. */
export function readUsableCpus(): number {
  return usableCpus(availableParallelism(), readCpuQuota());
}

/** Rounded down, at least 1: with more threads than the quota, the kernel pauses all of them in every period. */
export function usableCpus(affinity: number, quota: number | undefined): number {
  return Math.max(1, Math.floor(Math.min(affinity, quota ?? Infinity)));
}
