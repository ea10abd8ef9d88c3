import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/**
 * Text that two processes have in common exactly when they can share memory: one kernel, and one network namespace, in which the
 * sockets lie that memory is handed over through. Containers on one machine usually differ, ranks in one pod agree.
 *
 * `RINGRUN_HOST_ID` overrides it, as NCCL_HOSTID does.
 */
export async function hostIdentity(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const given = env['RINGRUN_HOST_ID'];
  if (given) return given;
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => hostname()),
    readlink('/proc/self/ns/net').catch(() => ''),
  ]);
  return `${boot.trim()} ${namespace}`.trim();
}
