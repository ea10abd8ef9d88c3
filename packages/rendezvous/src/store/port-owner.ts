import { readdir, readFile, readlink } from 'node:fs/promises';

/** A process that listens on a TCP port, as shown by /proc. */
export interface PortOwner {
  /** Undefined if the process belongs to another user or container. */
  process: { pid: number; command: string } | undefined;
  /** User id of the socket's owner. */
  uid: number;
}

/** A line of /proc/net/tcp or tcp6 in state LISTEN. */
export interface ListeningSocket {
  port: number;
  uid: number;
  inode: string;
}

const stateListen = '0A';

/**
 * The listening sockets in the text of /proc/net/tcp or /proc/net/tcp6 (Linux,
 * Documentation/networking/proc_net_tcp.rst).
 */
export function parseListeningSockets(table: string): ListeningSocket[] {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns.length >= 10 && columns[3] === stateListen)
    .map((columns) => ({
      port: Number.parseInt(columns[1].slice(columns[1].lastIndexOf(':') + 1), 16),
      uid: Number(columns[7]),
      inode: columns[9],
    }));
}

/** Command line in /proc/<pid>/cmdline, whose arguments end with NUL. At most 200 characters. */
export function parseCommandLine(cmdline: string): string {
  const command = cmdline.replace(/\0+$/, '').replaceAll('\0', ' ');
  return command.length > 200 ? `${command.slice(0, 200)}…` : command;
}

/** The process that listens on `port` of this host. Undefined if no process does, or without /proc. */
export async function findPortOwner(port: number): Promise<PortOwner | undefined> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(readOrEmpty));
  const socket = tables.flatMap(parseListeningSockets).find((candidate) => candidate.port === port);
  if (!socket) return undefined;
  return { uid: socket.uid, process: await findSocketOwner(socket.inode) };
}

/** `process 4711 (node train.js)` */
export function describePortOwner(owner: PortOwner | undefined): string {
  if (!owner) return 'another process';
  if (!owner.process) return `a process of user id ${owner.uid} that is not visible from here`;
  return `process ${owner.process.pid} (${owner.process.command})`;
}

async function findSocketOwner(inode: string): Promise<PortOwner['process']> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    if (await holdsSocket(pid, inode)) {
      return { pid: Number(pid), command: parseCommandLine(await readOrEmpty(`/proc/${pid}/cmdline`)) };
    }
  }
  return undefined;
}

async function holdsSocket(pid: string, inode: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const descriptors = await readdir(folder).catch(() => []);
  const targets = await Promise.all(descriptors.map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
  return targets.includes(`socket:[${inode}]`);
}

function readOrEmpty(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
