import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describePortOwner, findPortOwner } from '../store/port-owner.ts';
import { CommandError } from './launch-error.ts';

/** Finds a TCP port that is free on all interfaces. Does not reserve it, so that the workers can bind it. */
export function findFreePort(): Promise<number> {
  return listenBriefly(0);
}

/**
 * Checks that workers can bind `port`.
 *
 * @throws CommandError that names the process that holds it.
 */
export async function requireFreePort(port: number): Promise<void> {
  try {
    await listenBriefly(port);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE'
        ? `is in use by ${describePortOwner(await findPortOwner(port))}`
        : `cannot be bound: ${String(code)}`;
    throw new CommandError(
      1,
      `--master-port ${port} ${why}. Pass another port, or omit --master-port to use a free port.`,
      { cause: error },
    );
  }
}

async function listenBriefly(port: number): Promise<number> {
  const server = createServer();
  server.listen({ port, exclusive: true });
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return bound;
}
