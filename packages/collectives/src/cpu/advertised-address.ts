import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { InvalidArgumentError } from '@ringrun/core';

/** Any port works: connecting a datagram socket only consults the routing table and sends nothing. */
const anyPort = 9;

const resolveEveryMs = 500;
/** Attempts before the first line about a name that does not resolve, and between two lines: 2 s and 5 s. */
const attempts = { first: 4, next: 10 };

/**
 * Returns the address at which other ranks reach this host: the source address that the kernel uses for packets to the
 * master. Unlike a lookup of this host's own name, it is never a loopback address in a multi-host job. Uses the first
 * address of the master with a route, IPv4 before IPv6.
 *
 * @param masterAddress Name or address of rank 0's host.
 * @param patienceMs Milliseconds to wait while the name does not resolve, with a line every 5 s. Default: 0.
 * @throws InvalidArgumentError if the name cannot be resolved or there is no route to any of its addresses.
 */
export async function addressRoutedTowards(masterAddress: string, patienceMs = 0): Promise<string> {
  try {
    const addresses = await resolvePatiently(masterAddress, patienceMs);
    return await firstSource(addresses);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(
      `no route from this host to the master '${masterAddress}' (${reason}): set MASTER_ADDR to a name or address of rank 0's host ` +
        'that this host can reach',
      { cause: error },
    );
  }
}

interface Address {
  readonly address: string;
  readonly family: number;
}

/** A name server may be restarted, and the name of a pod is unknown until the pod is ready. */
async function resolvePatiently(name: string, patienceMs: number): Promise<Address[]> {
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      const found = await lookup(name, { all: true });
      return found.sort((a, b) => a.family - b.family);
    } catch (error) {
      if (performance.now() - startedAt >= patienceMs) throw error;
      if (attempt % attempts.next === attempts.first)
        process.stderr.write(
          `ringrun: waiting for the name ${name} of the master, which does not resolve (${(error as NodeJS.ErrnoException).code})\n`,
        );
    }
    await sleep(resolveEveryMs);
  }
}

async function firstSource(addresses: readonly Address[]): Promise<string> {
  const failures: string[] = [];
  for (const one of addresses) {
    try {
      return await sourceOf(one);
    } catch (error) {
      failures.push(`${one.address}: ${(error as Error).message}`);
    }
  }
  throw new Error(failures.join('; '));
}

async function sourceOf({ address, family }: Address): Promise<string> {
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  try {
    socket.connect(anyPort, address);
    await once(socket, 'connect');
    return socket.address().address;
  } finally {
    socket.close();
  }
}
