import { availableParallelism } from 'node:os';
import { readCpuQuota } from '../../launcher/cgroup.ts';
import { usableCpus } from '../../launcher/cpus.ts';
import { ok, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** What bounds the threads that compute at the same time. */
export interface ThreadBudget {
  /** CPUs that the kernel lets this process run on. */
  affinity: number;
  /** CPUs that the cgroup's quota is worth, which need not be whole; undefined without a quota. */
  quota: number | undefined;
  /** OMP_NUM_THREADS as it is set. */
  ompNumThreads: string | undefined;
}

export function examineThreads(): Finding {
  return judgeThreads({
    affinity: availableParallelism(),
    quota: readCpuQuota(),
    ompNumThreads: process.env['OMP_NUM_THREADS'],
  });
}

export function judgeThreads(budget: ThreadBudget): Finding {
  const { affinity, quota, ompNumThreads } = budget;
  const usable = usableCpus(affinity, quota);
  const cpus = describeCpus(usable, affinity, quota);
  const measured = { ...budget, usable };
  if (quota !== undefined && quota < 1) {
    return warning(
      `${cpus}: the kernel stops even a single thread for part of every period`,
      'give the container at least one CPU for each of its processes (resources.limits.cpu)',
      measured,
    );
  }
  if (ompNumThreads === undefined || ompNumThreads === '')
    return ok(`${cpus}; the launcher shares them among its processes`, measured);
  const threads = /^\d+$/.test(ompNumThreads) ? Number(ompNumThreads) : 0;
  if (threads < 1) {
    return warning(
      `${cpus}; OMP_NUM_THREADS is "${ompNumThreads}", no number of threads, so each process takes all`,
      `unset it, or OMP_NUM_THREADS=${usable}`,
      measured,
    );
  }
  if (threads > usable) {
    return warning(
      `${cpus}; OMP_NUM_THREADS=${threads} makes every process start more threads than that, which wait for each other`,
      `unset it: the launcher sets what fits; or OMP_NUM_THREADS=${usable}`,
      measured,
    );
  }
  return ok(`${cpus}; OMP_NUM_THREADS=${threads} for each process`, measured);
}

function describeCpus(usable: number, affinity: number, quota: number | undefined): string {
  if (quota === undefined || quota >= affinity) return `${usable} ${usable === 1 ? 'CPU' : 'CPUs'}`;
  return `${usable} of ${affinity} CPUs, by the cgroup's quota of ${Number(quota.toFixed(2))}`;
}
