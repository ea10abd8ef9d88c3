import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { connectStore } from '../../src/store/client.ts';
import { start } from './processes.ts';

const place = temporaryFolder();

// ZMTP 3.0 (ZeroMQ RFC 23) without security: a greeting, READY, messages of two frames, and PING with a lifetime of 0.
const hex = (...parts: string[]) => Buffer.from(parts.join(''), 'hex');
const mechanism = Buffer.from('NULL').toString('hex').padEnd(40, '0');
const greeting = hex('ff00000000000000007f0300', mechanism, '00'.repeat(32));
const ready = (name: string) => {
  const length = String.fromCharCode(name.length);
  const body = `\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0${length}${name}`;
  return Buffer.concat([Buffer.from([4, body.length]), Buffer.from(body, 'latin1')]);
};
const messages = Buffer.concat(Array<Buffer>(100).fill(hex('010161', '000162')));
const ping = Buffer.concat([hex('0407'), Buffer.from('\x04PING\0\0', 'latin1')]);

/** The bytes that a connection sends before it is closed or reset; the last case is the longest. */
const stages = {
  nothing: [],
  'half of a greeting': [greeting.subarray(0, 30)],
  'a greeting': [greeting],
  'a greeting and READY': [greeting, ready('')],
  'unread requests': [greeting, ready(''), messages],
  'unread requests and a ping': [greeting, ready(''), messages, ping],
};

/** Resolves with a connection whose handshake is over: the server has answered with its greeting and READY. */
async function member(port: number, name: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(Buffer.concat([greeting, ready(name)]));
  let received = 0;
  for await (const bytes of socket.iterator({ destroyOnReturn: false })) {
    received += (bytes as Buffer).length;
    if (received > greeting.length) return socket;
  }
  throw new Error(`the server closed the connection after ${received} bytes`);
}

/** Sends the bytes, if any, and then closes or resets the connection. */
async function leave(socket: Socket, bytes: Buffer, how: 'end' | 'reset'): Promise<void> {
  socket.resume();
  if (bytes.length > 0) await new Promise<unknown>((resolve) => socket.write(bytes, resolve));
  if (how === 'end') socket.destroy();
  else socket.resetAndDestroy();
  await once(socket, 'close');
}

test('a store survives connections that break with unread requests, and keeps none of them', async () => {
  const free = join(place, 'free');
  const server = start(new URL('unread-requests.script.ts', import.meta.url), {}, [free]);
  const port = Number((await server.sees(/port (\d+)\n/))[1]);
  const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
  const store = await connectStore({ host: '127.0.0.1', port, timeoutMs: 20_000 });
  await store.set('key', 'value');
  const before = descriptors();
  server.kill('SIGUSR2');
  await server.sees(/blocked;/);
  for (let round = 0; round < 3; round += 1) {
    for (const how of ['end', 'reset'] as const) {
      for (const parts of Object.values(stages)) {
        const socket = connect(port, '127.0.0.1');
        await once(socket, 'connect');
        await leave(socket, Buffer.concat(parts), how);
      }
      // Two connections with one name: requests come on both.
      const name = `stranger ${round} ${how}`;
      const pair = [await member(port, name), await member(port, name)];
      for (const socket of pair) await leave(socket, messages, how);
      const late = [await member(port, ''), await member(port, '')];
      await leave(late[0], Buffer.concat([messages, ping, messages]), how);
      await leave(late[1], Buffer.concat([messages, ping]), how);
    }
  }
  writeFileSync(free, '');
  expect(Buffer.from(await store.get('key')).toString()).toBe('value');
  await expect.poll(descriptors, { timeout: 20_000 }).toBe(before);
  await store.close();
});
