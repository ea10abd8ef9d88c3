import { posix } from 'node:path';
import { readText } from './host-files.ts';

const mount = '/sys/fs/cgroup';

/**
 * Folders that may contain a controller's files for this process, innermost group first, from the text of
 * /proc/self/cgroup (cgroups(7)). In a container without a cgroup namespace, only the last folder exists.
 */
export function cgroupFolders(procSelfCgroup: string, controller: 'cpu' | 'memory'): string[] {
  for (const line of procSelfCgroup.split('\n')) {
    const [, id, controllers, path] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? ['', '', '', ''];
    if (controllers.split(',').includes(controller))
      return withAncestors(posix.join(mount, controller), path);
    if (id === '0' && controllers === '') return withAncestors(mount, path);
  }
  return [];
}

function withAncestors(root: string, path: string): string[] {
  const folders = [];
  for (let current = posix.normalize(path); current !== '/'; current = posix.dirname(current)) {
    folders.push(posix.join(root, current));
  }
  return [...folders, root];
}

/** CPUs allowed by `cpu.max` (v2): `200000 100000` is 2; undefined for `max`. */
export function parseCpuMax(text: string): number | undefined {
  const [quota, period] = text.trim().split(/\s+/);
  return cpusOf(Number(quota), Number(period));
}

/** CPUs allowed by cpu.cfs_quota_us / cpu.cfs_period_us (v1); undefined for a quota of -1. */
export function cpusOf(quotaUs: number, periodUs: number): number | undefined {
  return quotaUs > 0 && periodUs > 0 ? quotaUs / periodUs : undefined;
}

/** Processes ended by the OOM killer, from memory.events (v2) or memory.oom_control (v1). */
export function parseOomKills(text: string): number | undefined {
  const count = /^oom_kill (\d+)$/m.exec(text)?.[1];
  return count === undefined ? undefined : Number(count);
}

/** CPUs that the cgroups of this process allow, possibly a fraction; undefined without a quota. */
export function readCpuQuota(): number | undefined {
  const quotas = ownFolders('cpu').flatMap((folder) => {
    const v2 = parseCpuMax(readText(`${folder}/cpu.max`));
    const v1 = cpusOf(
      Number(readText(`${folder}/cpu.cfs_quota_us`)),
      Number(readText(`${folder}/cpu.cfs_period_us`)),
    );
    return [v2, v1].filter((quota) => quota !== undefined);
  });
  return quotas.length > 0 ? Math.min(...quotas) : undefined;
}

/** Processes of this cgroup that the OOM killer ended since its creation; undefined if the count is not available. */
export function readOomKills(): number | undefined {
  const counts = ownFolders('memory').map((folder) =>
    parseOomKills(readText(`${folder}/memory.events`) + readText(`${folder}/memory.oom_control`)),
  );
  return counts.find((count) => count !== undefined);
}

function ownFolders(controller: 'cpu' | 'memory'): string[] {
  return cgroupFolders(readText('/proc/self/cgroup'), controller);
}
