import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/**
 * Returns a string that is the same for two processes if and only if they can share memory: they need one kernel, and
 * one network namespace for the Unix sockets that pass the memory. It is the same within a pod and usually differs
 * between the containers of a machine.
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
