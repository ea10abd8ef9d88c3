import { availableParallelism } from 'node:os';
import { readCpuQuota } from '../../../host/cgroup.ts';
import { usableCpus } from '../../../host/cpus.ts';
import { ok, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** Limits of the number of threads that can compute at the same time. */
export interface ThreadBudget {
  /** CPUs that the kernel lets this process run on. */
  affinity: number;
  /** The cgroup's quota in CPUs, possibly a fraction. Undefined without a quota. */
  quota: number | undefined;
  /** Value of OMP_NUM_THREADS. */
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
      `${cpus}: the kernel throttles even a single thread`,
      'give the container at least one CPU for each of its processes (resources.limits.cpu)',
      measured,
    );
  }
  if (ompNumThreads === undefined || ompNumThreads === '')
    return ok(`${cpus}; the launcher divides them among its processes`, measured);
  const threads = /^\d+$/.test(ompNumThreads) ? Number(ompNumThreads) : 0;
  if (threads < 1) {
    return warning(
      `${cpus}; OMP_NUM_THREADS is "${ompNumThreads}", which is not a number of threads, so each process uses all CPUs`,
      `unset it, or set OMP_NUM_THREADS=${usable}`,
      measured,
    );
  }
  if (threads > usable) {
    return warning(
      `${cpus}; OMP_NUM_THREADS=${threads} makes each process start more threads than CPUs, which slows all of them`,
      `unset it, so that the launcher chooses a value, or set OMP_NUM_THREADS=${usable}`,
      measured,
    );
  }
  return ok(`${cpus}; OMP_NUM_THREADS=${threads} for each process`, measured);
}

function describeCpus(usable: number, affinity: number, quota: number | undefined): string {
  if (quota === undefined || quota >= affinity) return `${usable} ${usable === 1 ? 'CPU' : 'CPUs'}`;
  return `${usable} of ${affinity} CPUs (cgroup quota ${Number(quota.toFixed(2))})`;
}
