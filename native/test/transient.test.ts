// Network errors while ranks connect. 127.0.0.2 represents another host: a rank at this host's address that
// refuses connections has ended.
import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

import { expect, test } from 'vitest';

import type { NativeListening, NativeProcessGroup } from '@ringrun/native';
import { loadNative } from '@ringrun/native';

import { freePort } from '../../test/support/free-port.ts';

const here = '127.0.0.1';
const elsewhere = '127.0.0.2';

interface Address {
  address: string;
  port: number;
}

/** Listens for connections and passes each to `handle` with its number, from 0. */
async function listen(at: Address, handle: (socket: Socket, number: number) => void): Promise<Server> {
  let number = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    handle(socket, number++);
  });
  server.listen(at.port, at.address);
  await once(server, 'listening');
  return server;
}

const portOf = (server: Server) => (server.address() as { port: number }).port;

function passOn(socket: Socket, port: number): void {
  const further = connect(port, here);
  further.on('error', () => undefined);
  socket.pipe(further).pipe(socket);
}

class Job implements AsyncDisposable {
  readonly groups: NativeProcessGroup[];
  readonly listening: NativeListening[];
  /** Proxies through which ranks connect, until the groups are destroyed. */
  readonly servers: Server[] = [];

  constructor(size: number) {
    const { ProcessGroup } = loadNative();
    this.groups = Array.from({ length: size }, (_, rank) => new ProcessGroup(rank, size));
    this.listening = this.groups.map((group) => group.listen(here));
  }

  /** `via`: addresses at which this rank reaches others. */
  connect(rank: number, timeoutMs: number, via: Readonly<Record<number, Address>> = {}): Promise<void> {
    const endpoints = this.listening.map((one, host) => ({
      host,
      name: `rank ${host}`,
      ...one,
      ...(via[host] ?? { address: here }),
    }));
    return this.groups[rank].connect(endpoints, '', timeoutMs, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.groups.map((group) => group.destroy(10_000)));
    for (const server of this.servers) server.close();
  }
}

test('retries a late listener, and one that resets the first connections', async () => {
  await using job = new Job(3);
  const late: Address = { address: elsewhere, port: await freePort() };
  let resets = 0;
  // Rank 2 dials rank 0, where nothing listens, before rank 1.
  const resetting = await listen({ address: elsewhere, port: 0 }, (socket, number) => {
    if (number < 3) {
      resets += 1;
      socket.resetAndDestroy();
    } else if (number === 3) {
      passOn(socket, job.listening[1].port);
      void listen(late, (one) => {
        passOn(one, job.listening[0].port);
      }).then((server) => job.servers.push(server));
    } else passOn(socket, job.listening[1].port);
  });
  job.servers.push(resetting);
  const via = { 0: late, 1: { address: elsewhere, port: portOf(resetting) } };
  const timeoutMs = 30_000;
  await Promise.all([job.connect(0, timeoutMs), job.connect(1, timeoutMs), job.connect(2, timeoutMs, via)]);
  expect(resets).toBe(3);
});

test('the timeout of connecting names the last error of the network', async () => {
  await using job = new Job(2);
  const port = await freePort();
  await expect(job.connect(1, 500, { 0: { address: elsewhere, port } })).rejects.toMatchObject({
    code: 'TIMEOUT',
    ranks: [{ rank: 0 }],
    message: `it did not connect; connect (${elsewhere}:${port}): Connection refused (errno 111)`,
  });
});

test('a rank at an address of this host that refuses connections has ended', async () => {
  await using job = new Job(2);
  const port = await freePort();
  await expect(job.connect(1, 30_000, { 0: { address: here, port } })).rejects.toMatchObject({
    code: 'PEER_DIED',
    ranks: [{ rank: 0 }],
    message: `connect (${here}:${port}): Connection refused (errno 111)`,
  });
});

test('a rank that cannot connect names all ranks that have ended', async () => {
  await using job = new Job(4);
  const ended = { address: here, port: await freePort() };
  // Rank 0 may have failed because of rank 3, which would have connected to it.
  await expect(job.connect(2, 30_000, { 0: ended, 3: ended })).rejects.toMatchObject({
    code: 'PEER_DIED',
    ranks: [{ rank: 0 }, { rank: 3 }],
  });
});
