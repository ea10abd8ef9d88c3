import { isIPv6 } from 'node:net';

import { InvalidArgumentError, printable } from '@ringrun/core';
import { describeRank } from '../native-group/failure.ts';
import type { RankInfo } from './rank-info.ts';

/** Transport of a group: shared memory, TCP, or `mixed` (shared memory within a host, TCP between hosts). */
export type Transport = 'shm' | 'tcp' | 'mixed';

export interface TransportDecision {
  transport: Transport;
  /** Host number of each rank: the same for ranks that share memory. */
  hosts: readonly number[];
  /** One line for the user, if the choice may be unexpected. */
  note: string | undefined;
}

type RankForDecision = Pick<
  RankInfo,
  'rank' | 'host' | 'pid' | 'hostId' | 'requested' | 'sharedMemoryProblem' | 'address'
>;

/**
 * Chooses the group's transport. Depends only on the published information, so every rank makes the same choice.
 *
 * Default: shared memory between ranks of one host that can share it, TCP between all others.
 *
 * @throws InvalidArgumentError if ranks requested different transports, if shared memory was requested and is not
 * possible, or
 *   if some ranks advertise addresses that others cannot reach.
 */
export function decideTransport(infos: readonly RankForDecision[]): TransportDecision {
  const first = infos[0];
  const other = infos.find(({ requested }) => requested !== first.requested);
  if (other) {
    throw new InvalidArgumentError(
      `${describeRank(first)} requests transport ${first.requested ?? 'auto'}, ${describeRank(other)} requests ${other.requested ?? 'auto'}: ` +
        'set RINGRUN_TRANSPORT to the same value on every rank',
    );
  }
  const obstacle = obstacleToSharing(infos);
  if (first.requested === 'shm' && obstacle) {
    throw new InvalidArgumentError(
      `transport shm was requested, but ${obstacle}: use RINGRUN_TRANSPORT=tcp, or leave it out`,
    );
  }
  const hosts = first.requested === 'tcp' ? infos.map(({ rank }) => rank) : hostsOf(infos);
  const transport = transportFor(hosts);
  if (transport !== 'shm') checkAddresses(infos);
  return { transport, hosts, note: first.requested === null ? noteOn(infos) : undefined };
}

/** The number is the first rank of that host that can share memory. A rank that cannot has its own number. */
function hostsOf(infos: readonly RankForDecision[]): number[] {
  return infos.map((info) => {
    if (info.sharedMemoryProblem !== '') return info.rank;
    return infos.find((one) => one.hostId === info.hostId && one.sharedMemoryProblem === '')!.rank;
  });
}

function transportFor(hosts: readonly number[]): Transport {
  const count = new Set(hosts).size;
  if (count === 1) return 'shm';
  return count === hosts.length ? 'tcp' : 'mixed';
}

/** Users expect shared memory between ranks of one host, so the exception is reported. */
function noteOn(infos: readonly RankForDecision[]): string | undefined {
  const unable = infos.find(({ sharedMemoryProblem }) => sharedMemoryProblem !== '');
  const hasNeighbour = unable && infos.some((one) => one !== unable && one.hostId === unable.hostId);
  return hasNeighbour ? `using TCP between ranks of one host, because ${inability(unable)}` : undefined;
}

function obstacleToSharing(infos: readonly RankForDecision[]): string | undefined {
  const first = infos[0];
  const elsewhere = infos.filter(({ hostId }) => hostId !== first.hostId);
  if (elsewhere.length > 0) {
    return `${elsewhere.map((info) => describeRank(info)).join(', ')} cannot share memory with ${describeRank(first)}: different host or container`;
  }
  const unable = infos.find(({ sharedMemoryProblem }) => sharedMemoryProblem !== '');
  return unable && inability(unable);
}

function inability(info: RankForDecision): string {
  return `${describeRank(info)} has no shared memory: ${printable(info.sharedMemoryProblem)}`;
}

/** Other hosts cannot reach a loopback address, and would wait for the rank until the timeout. */
function checkAddresses(infos: readonly RankForDecision[]): void {
  const hidden = infos.find(({ address }) => isLoopback(address));
  const open = infos.find(({ address }) => !isLoopback(address));
  if (hidden && open) {
    throw new InvalidArgumentError(
      `${describeRank(hidden)} advertises ${printable(hidden.address)}, which ${describeRank(open)} at ${printable(open.address)} cannot reach: ` +
        "on rank 0's host, MASTER_ADDR must resolve to an address in a network that all hosts share (check /etc/hosts)",
    );
  }
}

function isLoopback(address: string): boolean {
  return isIPv6(address) ? address === '::1' : address.startsWith('127.');
}
