import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { openFilesProblem } from '@ringrun/core';
import { describePortOwner, findPortOwner } from '@ringrun/rendezvous';
import { CommandError } from '../command-error.ts';

/**
 * Finds a TCP port that is free on all interfaces. Does not reserve it, so that the workers can bind it.
 *
 * @throws CommandError if this process can open no socket.
 */
export async function findFreePort(): Promise<number> {
  try {
    return await listenBriefly(0);
  } catch (error) {
    const why = openFilesProblem(error) ?? (error as Error).message;
    throw new CommandError(1, `No free port for MASTER_PORT was found: ${why}.`, { cause: error });
  }
}

/**
 * Checks that workers can bind `port`.
 *
 * @throws CommandError that names the process that holds it, or the lack of descriptors.
 */
export async function requireFreePort(port: number): Promise<void> {
  try {
    await listenBriefly(port);
  } catch (error) {
    const shortage = openFilesProblem(error);
    if (shortage !== undefined) {
      throw new CommandError(1, `--master-port ${port} cannot be checked: ${shortage}.`, { cause: error });
    }
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
