import { isIPv6 } from 'node:net';

import { InvalidArgumentError } from '../errors.ts';
import type { Card } from './card.ts';

/** What carries a group's data: memory that the ranks of one host share, or TCP. */
export type Transport = 'shm' | 'tcp';

const transports: readonly string[] = ['shm', 'tcp'] satisfies Transport[];

/**
 * The transport that this rank was told to use: the option, else RINGRUN_TRANSPORT; null when nobody said.
 *
 * @throws InvalidArgumentError for any other word.
 */
export function requestedTransport(
  option: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): Transport | null {
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
  return given as Transport;
}

export interface TransportDecision {
  transport: Transport;
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
 * Shared memory when all ranks are on one host and able to, TCP otherwise, unless all were told.
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
      `transport shm was asked for, but ${obstacle.reason}: use RINGRUN_TRANSPORT=tcp, or leave it out`,
    );
  }
  if (first.requested !== 'tcp' && !obstacle) return { transport: 'shm', note: undefined };
  checkAddresses(cards);
  const surprising = first.requested === null && obstacle?.kind === 'unable';
  return {
    transport: 'tcp',
    note: surprising ? `using TCP between the ranks of one host, because ${obstacle.reason}` : undefined,
  };
}

interface Obstacle {
  kind: 'apart' | 'unable';
  reason: string;
}

function obstacleToSharing(cards: readonly CardForDecision[]): Obstacle | undefined {
  const first = cards[0];
  const elsewhere = cards.filter(({ hostId }) => hostId !== first.hostId);
  if (elsewhere.length > 0) {
    return {
      kind: 'apart',
      reason: `${elsewhere.map(nameOf).join(', ')} cannot share memory with ${nameOf(first)}: another host or container`,
    };
  }
  const unable = cards.find(({ sharedMemoryProblem }) => sharedMemoryProblem !== '');
  return (
    unable && {
      kind: 'unable',
      reason: `${nameOf(unable)} has no shared memory: ${unable.sharedMemoryProblem}`,
    }
  );
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
