import { readFileSync } from 'node:fs';

/** What a process has open besides its clients' connections: its own files, onnxruntime's, the group's sockets. */
const besideClients = 200;

/** A line for the host of a store that so many clients will connect to, where it may not open a file descriptor for each; undefined where it may. */
export function fileLimitWarning(clients: number): string | undefined {
  try {
    return warningFor(readFileSync('/proc/self/limits', 'utf8'), clients);
  } catch {
    return undefined;
  }
}

/** @param limits Text of /proc/self/limits. Node has raised the soft limit to the hard one. */
export function warningFor(limits: string, clients: number): string | undefined {
  const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  const needed = clients + besideClients;
  if (limit >= needed) return undefined;
  return (
    `ringrun: this process may open ${limit} files, and ${clients} clients of the store it hosts need about ${needed}: those that come last will ` +
    `wait in vain. Raise the limit where it is started: ulimit -n ${needed}, or LimitNOFILE and --ulimit nofile of systemd and Docker.`
  );
}
