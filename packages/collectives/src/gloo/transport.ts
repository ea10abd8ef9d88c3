import { isIPv6 } from 'node:net';

import { InvalidArgumentError } from '../errors.ts';
import type { Card } from './card.ts';

/** What carries a group's data: memory that the ranks of one host share, TCP, or both: inside the hosts and between them. */
export type Transport = 'shm' | 'tcp' | 'mixed';

/** What a rank can be told to use for everything. */
export type RequestedTransport = 'shm' | 'tcp';

const transports: readonly string[] = ['shm', 'tcp'] satisfies RequestedTransport[];

/**
 * The transport that this rank was told to use: the option, else RINGRUN_TRANSPORT; null when nobody said.
 *
 * @throws InvalidArgumentError for any other word.
 */
export function requestedTransport(
  option: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): RequestedTransport | null {
  const [given, where] =
    option === undefined
      ? [env['RINGRUN_TRANSPORT'], 'RINGRUN_TRANSPORT']
      : [option, "the option 'transport'"];
  if (given === undefined || given === '') return null;
  if (!transports.includes(given)) {
    throw new InvalidArgumentError(
      `${where} is '${given}', expected 'shm' or 'tcp', or nothing for whatever fits`,
    );
  }
  return given as RequestedTransport;
}

export interface TransportDecision {
  transport: Transport;
  /** By rank: equal numbers for ranks that share memory. */
  hosts: readonly number[];
  /** One line for the user, where the choice is not what he might expect. */
  note: string | undefined;
}

type CardForDecision = Pick<
  Card,
  'rank' | 'host' | 'pid' | 'hostId' | 'requested' | 'sharedMemoryProblem' | 'address'
>;

/**
 * What the group uses. A function of everybody's cards alone, so that every rank decides the same.
 *
 * Ranks of one host that are able to share memory, TCP between all others, unless all were told.
 *
 * @throws InvalidArgumentError when ranks were told different things, when shared memory was asked for and cannot be, or when some
 *   ranks advertise addresses that the others cannot reach.
 */
export function decideTransport(cards: readonly CardForDecision[]): TransportDecision {
  const first = cards[0];
  const other = cards.find(({ requested }) => requested !== first.requested);
  if (other) {
    throw new InvalidArgumentError(
      `${nameOf(first)} was told to use transport ${first.requested ?? 'auto'}, ${nameOf(other)} ${other.requested ?? 'auto'}: ` +
        'give RINGRUN_TRANSPORT the same value on every rank',
    );
  }
  const obstacle = obstacleToSharing(cards);
  if (first.requested === 'shm' && obstacle) {
    throw new InvalidArgumentError(
      `transport shm was asked for, but ${obstacle}: use RINGRUN_TRANSPORT=tcp, or leave it out`,
    );
  }
  const hosts = first.requested === 'tcp' ? cards.map(({ rank }) => rank) : hostsOf(cards);
  const transport = transportFor(hosts);
  if (transport !== 'shm') checkAddresses(cards);
  return { transport, hosts, note: first.requested === null ? noteOn(cards) : undefined };
}

/** Ranks of one host have the number of its first one that can share memory; who cannot has his own. */
function hostsOf(cards: readonly CardForDecision[]): number[] {
  return cards.map((card) => {
    if (card.sharedMemoryProblem !== '') return card.rank;
    return cards.find((one) => one.hostId === card.hostId && one.sharedMemoryProblem === '')!.rank;
  });
}

function transportFor(hosts: readonly number[]): Transport {
  const count = new Set(hosts).size;
  if (count === 1) return 'shm';
  return count === hosts.length ? 'tcp' : 'mixed';
}

/** A rank that could share memory with others, if it were able to, is a surprise. */
function noteOn(cards: readonly CardForDecision[]): string | undefined {
  const unable = cards.find(({ sharedMemoryProblem }) => sharedMemoryProblem !== '');
  const hasNeighbour = unable && cards.some((one) => one !== unable && one.hostId === unable.hostId);
  return hasNeighbour ? `using TCP between ranks of one host, because ${inability(unable)}` : undefined;
}

function obstacleToSharing(cards: readonly CardForDecision[]): string | undefined {
  const first = cards[0];
  const elsewhere = cards.filter(({ hostId }) => hostId !== first.hostId);
  if (elsewhere.length > 0) {
    return `${elsewhere.map(nameOf).join(', ')} cannot share memory with ${nameOf(first)}: another host or container`;
  }
  const unable = cards.find(({ sharedMemoryProblem }) => sharedMemoryProblem !== '');
  return unable && inability(unable);
}

function inability(card: CardForDecision): string {
  return `${nameOf(card)} has no shared memory: ${card.sharedMemoryProblem}`;
}

/** A rank at a loopback address is reached by nobody on another host, and would be waited for until the timeout. */
function checkAddresses(cards: readonly CardForDecision[]): void {
  const hidden = cards.find(({ address }) => isLoopback(address));
  const open = cards.find(({ address }) => !isLoopback(address));
  if (hidden && open) {
    throw new InvalidArgumentError(
      `${nameOf(hidden)} advertises ${hidden.address}, which ${nameOf(open)} at ${open.address} cannot reach: ` +
        "on rank 0's host, MASTER_ADDR has to resolve to an address of a network that all hosts share (look at /etc/hosts)",
    );
  }
}

function isLoopback(address: string): boolean {
  return isIPv6(address) ? address === '::1' : address.startsWith('127.');
}

function nameOf({ rank, host, pid }: CardForDecision): string {
  return `rank ${rank} (host ${host}, pid ${pid})`;
}
