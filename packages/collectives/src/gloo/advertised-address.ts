import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';

import { InvalidArgumentError } from '../errors.ts';

/** Any port does: connecting a datagram socket sends nothing, it only asks the routing table. */
const anyPort = 9;

/**
 * The address of this host that other ranks reach it at: the one that the kernel routes towards the master from. Unlike looking up the
 * host's own name, that never gives a loopback address where there are several hosts.
 *
 * @param masterAddress Name or address of rank 0's host.
 * @throws InvalidArgumentError when the name is unknown or no route leads there.
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
      `no address of this host leads to the master '${masterAddress}' (${reason}): set MASTER_ADDR to a name or address of rank 0's host ` +
        'that this host can reach',
      { cause: error },
    );
  }
}
