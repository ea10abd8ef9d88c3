import { readFileSync } from 'node:fs';
import { descriptorTargets } from './descriptors.ts';

/**
 * An address on which a process listens: a TCP port of 127.0.0.1, or an abstract Unix socket with its leading zero
 * byte.
 */
export type Listener = { host: '127.0.0.1'; port: number } | { path: string };

/** The TCP ports and abstract Unix sockets on which a process listens (proc(5)). */
export function listenersOf(pid: number): Listener[] {
  const inodes = new Set<string>();
  for (const target of descriptorTargets(pid)) {
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  const rows = (file: string) =>
    readFileSync(`/proc/${pid}/net/${file}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/));
  const listening = '0A';
  const tcp = rows('tcp').filter(
    ([, , , state, , , , , , inode]) => state === listening && inodes.has(inode),
  );
  // The flag means that the socket accepts connections.
  const acceptsConnections = '00010000';
  const unix = rows('unix').filter(
    ([, , , flags, , , inode, path = '']) =>
      flags === acceptsConnections && inodes.has(inode) && path.startsWith('@'),
  );
  return [
    ...tcp.map(([, address]) => ({ host: '127.0.0.1' as const, port: parseInt(address.split(':')[1], 16) })),
    ...unix.map((row) => ({ path: `\0${row[7].slice(1)}` })),
  ];
}
