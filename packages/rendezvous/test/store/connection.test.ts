import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { InvalidArgumentError, StoreTimeoutError } from '@ringrun/core';
import { expect, onTestFinished, test } from 'vitest';
import { connectStore } from '../../src/store/client.ts';
import { StoreServer } from '../../src/store/server.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import { start } from './processes.ts';
import { host, open, serve, text } from './served.ts';

/** A TCP relay to `port`. Its connections can be made to discard the client's bytes, or be cut; new ones work. */
async function relay(port: number) {
  const sockets = new Set<Socket>();
  let connections = 0;
  let swallowedUpTo = 0;
  let onSwallowed: (data: Buffer) => void = () => undefined;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    const number = ++connections;
    const far = keep(connect(port, host));
    keep(near).on('data', (data) => {
      if (number > swallowedUpTo) far.write(data);
      else onSwallowed(data);
    });
    far.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  /** Resolves when the text has been swallowed. */
  const swallow = (marker: string) => {
    swallowedUpTo = connections;
    let swallowed = '';
    return new Promise<void>((resolve) => {
      onSwallowed = (data) => {
        swallowed += data.toString('latin1');
        if (swallowed.includes(marker)) resolve();
      };
    });
  };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, swallow, cut };
}

test('64 clients that wait for one key receive it at once', async () => {
  const { port } = await serve();
  const clients = await Promise.all(Array.from({ length: 64 }, () => open(port)));
  const waiting = clients.map((client) => client.get('start'));
  // Each client's count comes after its `get` on its own connection, so all of them wait when the last count is there.
  await Promise.all(clients.map((client) => client.add('waiting', 1)));
  const setter = await open(port);
  expect(text(await setter.get('waiting'))).toBe('64');
  const setAt = performance.now();
  await setter.set('start', 'now');
  expect((await Promise.all(waiting)).map(text)).toEqual(Array.from({ length: 64 }, () => 'now'));
  expect(performance.now() - setAt).toBeLessThan(2000);
});

test('thousands of concurrent calls all succeed', async () => {
  const store = await open((await serve()).port);
  await Promise.all(Array.from({ length: 3000 }, (_, i) => store.set(`k${i}`, String(i))));
  expect(await store.numKeys()).toBe(3000);
});

test('a client that starts before the store waits for it', async () => {
  const port = await freePort();
  const opening = open(port);
  const early = await Promise.race([
    opening,
    connectStore({ host, port, timeoutMs: 150 }).catch((e: unknown) => e),
  ]);
  expect(early).toBeInstanceOf(StoreTimeoutError);
  expect((early as Error).message).toMatch(/within 150 ms: 127\.0\.0\.1 refuses the connection/);
  await serve(port);
  await (await opening).set('k', 'v');
});

test('retries an unresolved name until the timeout, and logs it', async () => {
  const lines: string[] = [];
  const opening = connectStore({
    host: 'no-such-host.invalid',
    port: 1,
    timeoutMs: 2600,
    who: 'rank 3',
    log: (line) => lines.push(line),
  });
  const error = await opening.catch((e: unknown) => e);
  expect(error).toBeInstanceOf(StoreTimeoutError);
  expect((error as Error).message).toMatch(
    /no-such-host\.invalid:1 was not reached within 3 s: .*does not resolve/,
  );
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /^ringrun: rank 3: waiting for the store at no-such-host\.invalid:1: the name no-such-host\.invalid does not resolve \(E\w+\) \(\d s of 3 s\)$/,
  );
});

test('logs the missing keys of a long wait', async () => {
  const { port } = await serve();
  let say: (line: string) => void = () => undefined;
  const line = new Promise<string>((resolve) => (say = resolve));
  const store = await open(port, {
    log: (text) => {
      say(text);
    },
  });
  const waiting = store.wait(['here', 'late'], { timeoutMs: 20_000 });
  await (await open(port)).set('here', '');
  expect(await line).toMatch(
    /^ringrun: waiting for key "late", at the store at 127\.0\.0\.1:\d+ \(2 s of 20 s\)$/,
  );
  await (await open(port)).set('late', '');
  await waiting;
});

test('reports a server that is not a store', async () => {
  const other = createServer(() => undefined);
  onTestFinished(() => void other.close());
  await new Promise<void>((resolve) => other.listen(0, host, resolve));
  const { port } = other.address() as AddressInfo;
  await expect(connectStore({ host, port, timeoutMs: 200 })).rejects.toThrow(
    /does not answer as a ringrun store/,
  );
});

test('clients of one process share the connections that probe a silent store', async () => {
  const clients = 100;
  let connections = 0;
  const silent = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
  });
  onTestFinished(() => void silent.close());
  await new Promise<void>((resolve) => silent.listen(0, host, resolve));
  const { port } = silent.address() as AddressInfo;
  const join = () => connectStore({ host, port, timeoutMs: 2600, log: () => undefined });
  const joined = await Promise.allSettled(Array.from({ length: clients }, join));
  expect(new Set(joined.map(({ status }) => status))).toEqual(new Set(['rejected']));
  // Three more connections of each otherwise, in the first two seconds.
  expect(connections).toBeLessThan(2 * clients);
});

test('closing a client does not affect others', async () => {
  const { port } = await serve();
  const [one, other] = [await open(port), await open(port)];
  const waiting = other.get('k');
  await one.close();
  await (await open(port)).set('k', 'v');
  expect(text(await waiting)).toBe('v');
});

test('refuses an invalid timeout', async () => {
  const store = await open((await serve()).port);
  await expect(store.get('k', { timeoutMs: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
  await expect(store.wait(['k'], { timeoutMs: NaN })).rejects.toBeInstanceOf(InvalidArgumentError);
});

test('a wait survives the loss of its connection, even before the store received it', async () => {
  const { port } = await serve();
  const near = await open(port);
  const way = await relay(port);
  const far = await open(way.port);
  const waits = [far.get('k')];
  expect(await far.check(['k'])).toBe(false);
  const swallowed = way.swallow('the counter');
  waits.push(far.get('k'));
  const adding = far.add('the counter', 1).catch((e: unknown) => e);
  await swallowed;
  way.cut();
  expect(await adding).toMatchObject({ code: 'ERR_STORE_INTERRUPTED' });
  expect(((await adding) as Error).message).toContain(
    'add("the counter"), which may or may not have taken effect',
  );
  await near.set('k', 'v');
  expect((await Promise.all(waits)).map(text)).toEqual(['v', 'v']);
});

test('the end of a store fails waiting and later calls within seconds', async () => {
  const server = await StoreServer.bind({ host, port: 0 });
  const store = await open(server.port);
  const startedAt = performance.now();
  const waiting = store.get('never').catch((e: unknown) => e);
  await store.check([]);
  await server.close();
  expect(await waiting).toMatchObject({ code: 'ERR_STORE_LOST' });
  expect(performance.now() - startedAt).toBeLessThan(4000);
  await expect(store.set('k', 'v')).rejects.toMatchObject({ code: 'ERR_STORE_LOST' });
});

test('detects that the store was replaced by another one', async () => {
  const first = await StoreServer.bind({ host, port: await freePort() });
  const store = await open(first.port);
  const waiting = store.get('never').catch((e: unknown) => e);
  await store.check([]);
  await first.close();
  await serve(first.port);
  expect(await waiting).toMatchObject({ code: 'ERR_STORE_LOST' });
  expect(((await waiting) as Error).message).toContain('restarted');
});

test('a port in use is reported with its process', async () => {
  const { port } = await serve();
  const error = await StoreServer.bind({ host, port }).catch((e: unknown) => e);
  expect(error).toMatchObject({ code: 'ERR_PORT_IN_USE' });
  expect((error as Error).message).toContain(`port ${port} is in use by process ${process.pid} (`);
  await expect(StoreServer.bind({ host: '*', port })).rejects.toMatchObject({ code: 'ERR_PORT_IN_USE' });
});

test('refuses to bind an address of another machine', async () => {
  await expect(StoreServer.bind({ host: '192.0.2.1', port: 0 })).rejects.toMatchObject({
    code: 'ERR_STORE_BIND',
  });
  await expect(StoreServer.bind({ host: 'no-such-host.invalid', port: 0 })).rejects.toMatchObject({
    code: 'ERR_STORE_BIND',
  });
});

test('* binds IPv4 and IPv6', async () => {
  const server = await StoreServer.bind({ host: '*', port: 0 });
  onTestFinished(() => server.close());
  await (await open(server.port, { host: '127.0.0.1' })).set('k', 'v');
  expect(text(await (await open(server.port, { host: 'localhost' })).get('k'))).toBe('v');
  const hasIPv6 = Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address }) => address === '::1'),
  );
  if (hasIPv6) expect(text(await (await open(server.port, { host: '::1' })).get('k'))).toBe('v');
});

test('refuses an invalid address', async () => {
  await expect(connectStore({ host, port: 65536 })).rejects.toBeInstanceOf(InvalidArgumentError);
  await expect(StoreServer.bind({ host, port: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
  await expect(connectStore({ host, port: 1, timeoutMs: NaN })).rejects.toBeInstanceOf(InvalidArgumentError);
});

test('an idle client does not keep the process alive, a waiting one does', async () => {
  const { port } = await serve();
  const idle = start(new URL('connection.script.ts', import.meta.url), { PORT: port }, ['idle']);
  expect(await idle.ended).toEqual({ code: 0, signal: null });
  const waiting = start(new URL('connection.script.ts', import.meta.url), { PORT: port }, ['wait']);
  const store = await open(port);
  // The waiting process has connected, and only waits.
  await store.get('arrived');
  await store.set('end', 'of waiting');
  expect(await waiting.ended).toEqual({ code: 0, signal: null });
  expect(waiting.output().stdout).toBe('got of waiting\n');
});

test('the signals of a profiler do not disturb connecting', async () => {
  const { port } = await serve();
  const profiled = start(new URL('connection.script.ts', import.meta.url), { PORT: port }, ['profiled']);
  expect(await profiled.ended).toEqual({ code: 0, signal: null });
  expect(profiled.output()).toEqual({ stdout: 'connected 400 times\n', stderr: '' });
});

test('a hosted store answers while the thread that started it is blocked', async () => {
  const child = start(new URL('blocked-server.script.ts', import.meta.url), {});
  const [, port] = await child.sees(/blocked, port (\d+)\n/);
  const store = await open(Number(port));
  await store.set('k', 'v');
  expect(text(await store.get('k'))).toBe('v');
  expect(child.output().stdout).not.toContain('free');
  child.kill('SIGKILL');
});
