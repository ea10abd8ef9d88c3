import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';

import { InvalidArgumentError } from '@ringrun/core';

/** Any port works: connecting a datagram socket only consults the routing table and sends nothing. */
const anyPort = 9;

/**
 * Returns the address at which other ranks reach this host: the source address that the kernel uses for packets to the
 * master. Unlike a lookup of this host's own name, it is never a loopback address in a multi-host job.
 *
 * @param masterAddress Name or address of rank 0's host.
 * @throws InvalidArgumentError if the name cannot be resolved or there is no route to it.
 */
export async function addressRoutedTowards(masterAddress: string): Promise<string> {
  try {
    const { address, family } = await lookup(masterAddress);
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
    try {
      socket.connect(anyPort, address);
      await once(socket, 'connect');
      return socket.address().address;
    } finally {
      socket.close();
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(
      `no route from this host to the master '${masterAddress}' (${reason}): set MASTER_ADDR to a name or address of rank 0's host ` +
        'that this host can reach',
      { cause: error },
    );
  }
}
