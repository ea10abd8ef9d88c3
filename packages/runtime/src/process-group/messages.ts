import type { CollectiveBuffer, ProcessGroup, RecvOptions, SendOptions, Work } from '@ringrun/core';
import { getGlobalRank, groupOf, rankInGroup } from './groups.ts';
import type { GroupOption } from './groups.ts';

/*
 * Point-to-point messages in the default group, or in the option `group`, as the methods of `ProcessGroup`. `src`,
 * `dst` and the returned sender are ranks of the default group, as in torch.distributed.
 */

/** Sends `tensor` to rank `dst`. Resolves when `tensor` may be modified again (torch.distributed.send). */
export async function send(
  tensor: CollectiveBuffer,
  dst: number,
  options: SendOptions & GroupOption = {},
): Promise<void> {
  const group = groupOf(options);
  await group.send(tensor, rankInGroup(group, 'dst', dst), options);
}

/** `send` on the calling thread. */
export function sendSync(
  tensor: CollectiveBuffer,
  dst: number,
  options: SendOptions & GroupOption = {},
): void {
  const group = groupOf(options);
  group.sendSync(tensor, rankInGroup(group, 'dst', dst), options);
}

/** Starts a `send` (torch.distributed.isend). */
export function isend(tensor: CollectiveBuffer, dst: number, options: SendOptions & GroupOption = {}): Work {
  const group = groupOf(options);
  return group.isend(tensor, rankInGroup(group, 'dst', dst), options);
}

/**
 * Receives into `tensor` from rank `src`. Default: any rank. Resolves with the sender's rank (torch.distributed.recv).
 */
export async function recv(
  tensor: CollectiveBuffer,
  options: RecvOptions & GroupOption = {},
): Promise<number> {
  const group = groupOf(options);
  return getGlobalRank(group, await group.recv(tensor, fromRankIn(group, options)));
}

/** `recv` on the calling thread. */
export function recvSync(tensor: CollectiveBuffer, options: RecvOptions & GroupOption = {}): number {
  const group = groupOf(options);
  return getGlobalRank(group, group.recvSync(tensor, fromRankIn(group, options)));
}

/** Starts a `recv` (torch.distributed.irecv). */
export function irecv(tensor: CollectiveBuffer, options: RecvOptions & GroupOption = {}): Work<number> {
  const group = groupOf(options);
  const work = group.irecv(tensor, fromRankIn(group, options));
  return {
    wait: async () => getGlobalRank(group, await work.wait()),
    isCompleted: () => work.isCompleted(),
  };
}

function fromRankIn(group: ProcessGroup, options: RecvOptions): RecvOptions {
  return options.src === undefined ? options : { ...options, src: rankInGroup(group, 'src', options.src) };
}
