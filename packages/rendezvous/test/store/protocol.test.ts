import { expect, onTestFinished, test } from 'vitest';
import { Router } from 'zeromq';
import { connectStore } from '../../src/store/client.ts';
import {
  decodeReply,
  decodeRequest,
  encodeReply,
  encodeRequest,
  protocolName,
} from '../../src/store/wire.ts';
import type { Call } from '../../src/store/wire.ts';
import { dealer, host, open, serve, text } from './served.ts';

test('the store refuses a client of another version', async () => {
  const { port } = await serve();
  const old = dealer(port);
  await old.send(['ringrun-store/0', 'whatever']);
  const [protocol, reply] = await old.receive();
  expect(protocol.toString()).toBe('ringrun-store/6');
  expect(decodeReply(reply)).toMatchObject({
    id: 0,
    result: {
      reason: 'PROTOCOL',
      message: 'expected "ringrun-store/6" as first frame, got "ringrun-store/0"',
    },
  });
});

test('the client refuses a store of another version at once', async () => {
  const future = new Router({ linger: 0 });
  await future.bind(`tcp://${host}:0`);
  onTestFinished(() => {
    future.close();
  });
  const port = Number(/\d+$/.exec(future.lastEndpoint!)![0]);
  const opening = connectStore({ host, port, timeoutMs: 10_000 }).catch((e: unknown) => e);
  const [client] = await future.receive();
  await future.send([client, 'ringrun-store/\x1b[2J4', '?']);
  expect(await opening).toMatchObject({ code: 'ERR_STORE_PROTOCOL' });
  expect(((await opening) as Error).message).toContain('its protocol is "ringrun-store/\\x1b[2J4"');
});

test('a quiet connection sends no pings for waiting calls while the store answers other calls', async () => {
  const server = new Router({ linger: 0 });
  await server.bind(`tcp://${host}:0`);
  onTestFinished(() => {
    server.close();
  });
  const port = Number(/\d+$/.exec(server.lastEndpoint!)![0]);
  const pings = new Map<string, number>();
  const serving = (async () => {
    for (;;) {
      const [connection, , bytes] = await server.receive();
      const { id, call, client = '' } = decodeRequest(bytes);
      if (call.op === 'get') continue;
      pings.set(client, (pings.get(client) ?? 0) + 1);
      const pong = encodeReply({ id, result: { kind: 'pong', instance: 'i', parked: [] } });
      await server.send([connection, protocolName, pong]);
      if (pings.get(client) === 4) return;
    }
  })();
  const quiet = await connectStore({ host, port, timeoutMs: 10_000 });
  quiet.keepQuiet(60_000);
  const usual = await connectStore({ host, port, timeoutMs: 10_000 });
  const waiting = [quiet, usual].map((store) => store.get('k').catch(() => undefined));
  // Each has sent a ping when it was opened.
  await serving;
  expect([...pings.values()]).toEqual([1, 4]);
  await Promise.all([quiet.close(), usual.close(), ...waiting]);
});

/** A client of the store's protocol that reads only on request. */
function rawClient(port: number) {
  const socket = dealer(port, { receiveHighWaterMark: 1 });
  let id = 0;
  return {
    send: (call: Call) => socket.send(['ringrun-store/6', encodeRequest({ id: ++id, call })]),
    read: async () => decodeReply((await socket.receive())[1]),
    leave: () => {
      socket.close();
    },
  };
}

test('the store refuses calls with timeouts that are not finite, and keeps no timer for them', async () => {
  const { port } = await serve();
  const { send, read } = rawClient(port);
  for (const timeoutMs of [NaN, Infinity, -1, Number.MAX_VALUE]) {
    await send({ op: 'get', key: 'k', timeoutMs });
    expect(await read()).toMatchObject({ result: { kind: 'failure', reason: 'INVALID' } });
  }
  const store = await open(port);
  expect(
    text(
      await Promise.any([
        store.get('k', { timeoutMs: Infinity }),
        store.set('k', 'v').then(() => store.get('k')),
      ]),
    ),
  ).toBe('v');
});

test('the store queues at most 64 MiB for a client that does not read, and serves others', async () => {
  const { port } = await serve();
  const store = await open(port);
  await store.set('large', new Uint8Array(8 * 2 ** 20));
  const { send, read } = rawClient(port);
  const calls = 12;
  for (let i = 0; i < calls; i += 1) await send({ op: 'get', key: 'large', timeoutMs: 1000 });
  expect((await store.get('large')).length).toBe(8 * 2 ** 20);
  const results = [];
  for (let i = 0; i < calls; i += 1) results.push((await read()).result);
  expect(results.filter(({ kind }) => kind === 'value').length).toBeLessThanOrEqual(9);
  expect(results.at(-1)).toMatchObject({
    reason: 'LIMIT',
    message: expect.stringMatching(
      /get\("large"\) .*at most 67,108,864 bytes of replies .* got 67,1\d\d,\d{3}/,
    ) as string,
  });
});

test('a client that reads may receive any number of bytes', async () => {
  const store = await open((await serve()).port);
  await store.set('large', new Uint8Array(8 * 2 ** 20));
  for (let i = 0; i < 12; i += 1) expect((await store.get('large')).length).toBe(8 * 2 ** 20);
});

test('calls beyond a limit are refused with the limit, before and after they are sent', async () => {
  const store = await open((await serve()).port);
  const nine = new Uint8Array(9 * 2 ** 20);
  await expect(store.set('k', nine)).rejects.toMatchObject({
    code: 'ERR_STORE_LIMIT',
    message: expect.stringMatching(
      /set\("k"\) .* expected values of at most 8,388,608 bytes, got 9,437,184/,
    ) as string,
  });
  await expect(store.compareSet('k', nine, nine)).rejects.toMatchObject({
    code: 'ERR_STORE_LIMIT',
    message: expect.stringMatching(
      /expected a request of at most 18,874,368 bytes, got 18,87\d,\d{3}/,
    ) as string,
  });
  expect(await store.numKeys()).toBe(0);
});

test('the store refuses malformed requests and keeps serving', async () => {
  const { port } = await serve();
  const vandal = dealer(port);
  for (const frames of [['ringrun-store/6'], ['ringrun-store/6', '\xff\xff\xff'], ['']]) {
    await vandal.send(frames);
    const [, reply] = await vandal.receive();
    expect(decodeReply(reply)).toMatchObject({ id: 0, result: { reason: 'PROTOCOL' } });
  }
  const store = await open(port);
  expect(await store.numKeys()).toBe(0);
});

test('a client that reconnects receives replies on the new connection; old requests are ignored', async () => {
  const { port } = await serve();
  const connection = () => {
    const socket = dealer(port, { receiveTimeout: 10_000 });
    return {
      send: (id: number, call: Call) =>
        socket.send([protocolName, encodeRequest({ id, call, client: 'one name' })]),
      read: async () => decodeReply((await socket.receive())[1]),
    };
  };
  const [old, renewed] = [connection(), connection()];
  await old.send(1, { op: 'get', key: 'k', timeoutMs: 20_000 });
  await old.send(2, { op: 'numKeys' });
  expect(await old.read()).toMatchObject({ id: 2, result: { number: 0 } });
  await renewed.send(4, { op: 'ping' });
  expect(await renewed.read()).toMatchObject({ id: 4, result: { parked: [{ id: 1, missing: 1 }] } });
  // A request that was delayed on the old connection.
  await old.send(3, { op: 'set', key: 'k', value: Buffer.from('late') });
  const store = await open(port);
  // Requests of one connection are handled in order.
  await old.send(5, { op: 'numKeys' });
  expect(await old.read()).toMatchObject({ id: 5, result: { number: 0 } });
  await renewed.send(6, { op: 'set', key: 'k', value: Buffer.from('v') });
  expect([await renewed.read(), await renewed.read()]).toMatchObject([
    { id: 6, result: { kind: 'done' } },
    { id: 1, result: { kind: 'value' } },
  ]);
  expect(text(await store.get('k'))).toBe('v');
});

test('the store refuses a client name that is too long', async () => {
  const { port } = await serve();
  const socket = dealer(port);
  await socket.send([protocolName, encodeRequest({ id: 1, call: { op: 'ping' }, client: 'n'.repeat(65) })]);
  expect(decodeReply((await socket.receive())[1])).toMatchObject({
    id: 0,
    result: { reason: 'PROTOCOL', message: 'expected a client name of at most 64 characters, got 65' },
  });
});
