import { readFileSync } from 'node:fs';
import { parseOpenFilesLimit } from '@ringrun/core';

/** File descriptors besides the clients' connections: files of Node and onnxruntime, sockets of the group. */
const besideClients = 200;

/**
 * A warning for the server of a store if the limit of open files is too low for this many clients. Otherwise undefined.
 */
export function fileLimitWarning(clients: number): string | undefined {
  try {
    return warningFor(readFileSync('/proc/self/limits', 'utf8'), clients);
  } catch {
    return undefined;
  }
}

/** @param limits Text of /proc/self/limits. Node raises the soft limit to the hard limit at start. */
export function warningFor(limits: string, clients: number): string | undefined {
  const limit = parseOpenFilesLimit(limits) ?? Infinity;
  const needed = clients + besideClients;
  if (limit >= needed) return undefined;
  return (
    `ringrun: the limit of open files is ${limit}, but a store with ${clients} clients needs about ${needed}: the last clients will not be able to connect. ` +
    `Raise the limit before starting this process: ulimit -n ${needed}, LimitNOFILE= (systemd) or --ulimit nofile (Docker).`
  );
}
