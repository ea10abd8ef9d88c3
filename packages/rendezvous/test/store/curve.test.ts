import { randomBytes } from 'node:crypto';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Dealer, curveKeyPair } from 'zeromq';
import { storeKeys } from '../../src/secret/keys.ts';
import { connectStore } from '../../src/store/client.ts';
import { z85 } from '../../src/store/curve.ts';
import { StoreServer } from '../../src/store/server.ts';
import { encodeRequest, protocolName } from '../../src/store/wire.ts';

const host = '127.0.0.1';
const secret = 'correct horse battery staple';

beforeEach(() => {
  vi.stubEnv('RINGRUN_SECRET', secret);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
});

async function serve(ofSecret: string | null = secret): Promise<StoreServer> {
  vi.stubEnv('RINGRUN_SECRET', ofSecret ?? undefined);
  const server = await StoreServer.bind({ host, port: 0 });
  onTestFinished(() => server.close());
  return server;
}

async function open(port: number, ofSecret: string | null = secret) {
  vi.stubEnv('RINGRUN_SECRET', ofSecret ?? undefined);
  const store = await connectStore({ host, port, timeoutMs: 60_000, log: () => undefined });
  onTestFinished(() => store.close());
  return store;
}

/** Keys of a client's socket. */
function curve(server: Buffer | string, client: { publicKey: Buffer | string; secretKey: Buffer | string }) {
  const text = (key: Buffer | string) => (typeof key === 'string' ? key : z85(key));
  return {
    curveServerKey: text(server),
    curvePublicKey: text(client.publicKey),
    curveSecretKey: text(client.secretKey),
  };
}

test('clients with the secret of the store share its keys', async () => {
  const { port } = await serve();
  const [one, other] = [await open(port), await open(port)];
  await one.set('key', 'value');
  expect(Buffer.from(await other.get('key')).toString()).toBe('value');
});

test.each([
  ['another secret', secret, 'another horse battery staple', /but this process has another one/],
  ['no secret', secret, null, /but this process has none/],
  ['a secret, at a store without one', null, secret, /but the store has none/],
])(
  'a client with %s throws ERR_SECRET_MISMATCH long before its timeout',
  async (_, ofServer, ofClient, why) => {
    const { port } = await serve(ofServer);
    const error = await open(port, ofClient).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'ERR_SECRET_MISMATCH' });
    expect((error as Error).message).toMatch(why);
    for (const one of [ofServer, ofClient]) if (one) expect((error as Error).message).not.toContain(one);
  },
);

test('a stranger can neither set nor read a key', async () => {
  const { port } = await serve();
  const store = await open(port);
  await store.set('rendezvous/state', 'round 1');
  const keys = storeKeys()!;
  const strangers: [keys: object, event: RegExp][] = [
    [{}, /^handshake:error/],
    [curve(curveKeyPair().publicKey, curveKeyPair()), /^handshake:error/],
    // The server's public key alone, and with a key pair that the server did not derive.
    [curve(keys.server.publicKey, curveKeyPair()), /^handshake:error:auth/],
    [curve(keys.server.publicKey, keys.server), /^handshake:error:auth/],
  ];
  for (const [options, event] of strangers) {
    const stranger = new Dealer({ ...options, linger: 0, reconnectInterval: 20 });
    let answered = false;
    const refused = (async () => {
      for await (const { type } of stranger.events) if (event.test(type)) return type;
      return 'no refusal';
    })();
    stranger.connect(`tcp://${host}:${port}`);
    const value = Buffer.from('round 99');
    await stranger.send([
      protocolName,
      encodeRequest({ id: 1, call: { op: 'set', key: 'rendezvous/state', value } }),
    ]);
    await stranger.send([protocolName, encodeRequest({ id: 2, call: { op: 'numKeys' } })]);
    const receiving = stranger.receive().then(
      () => (answered = true),
      () => undefined,
    );
    expect(await Promise.race([refused, receiving.then(() => 'an answer')])).toMatch(event);
    stranger.close();
    await receiving;
    expect(answered).toBe(false);
    expect(Buffer.from(await store.get('rendezvous/state')).toString()).toBe('round 1');
    expect(await store.numKeys()).toBe(1);
  }
});

test('the right keys from outside work, so the refusals above are due to the keys', async () => {
  const { port } = await serve();
  const keys = storeKeys()!;
  const client = new Dealer({ ...curve(keys.server.publicKey, keys.client), linger: 0 });
  onTestFinished(() => {
    client.close();
  });
  client.connect(`tcp://${host}:${port}`);
  await client.send([protocolName, encodeRequest({ id: 1, call: { op: 'numKeys' } })]);
  expect(await client.receive()).toHaveLength(2);
});

test('stores of one process with different secrets serve their own clients in any closing order', async () => {
  const [first, second] = [await serve('the secret of job 1'), await serve('the secret of job 2')];
  await (await open(first.port, 'the secret of job 1')).set('a', '1');
  await expect(open(second.port, 'the secret of job 1')).rejects.toMatchObject({
    code: 'ERR_SECRET_MISMATCH',
  });
  await first.close();
  await (await open(second.port, 'the secret of job 2')).set('a', '2');
  await second.close();
  const [third] = await Promise.all([serve(), serve().then((server) => server.close())]);
  await (await open(third.port)).set('a', '3');
});

test('a client waits while a proxy accepts and closes connections until the store starts', async () => {
  const proxy = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => proxy.listen(0, host, resolve));
  const { port } = proxy.address() as AddressInfo;
  const lines: string[] = [];
  const opening = connectStore({ host, port, timeoutMs: 20_000, log: (line) => lines.push(line) });
  // The client has probed the proxy at least twice.
  await expect.poll(() => lines.length, { timeout: 15_000 }).toBeGreaterThan(0);
  await new Promise((resolve) => proxy.close(resolve));
  const server = await StoreServer.bind({ host, port });
  onTestFinished(() => server.close());
  await (await opening).close();
});

/** Passes everything on to `port` and keeps a copy. */
async function tap(port: number, captured: Buffer[]): Promise<number> {
  const server = createServer((near) => {
    const far = connect(port, host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      from.on('data', (bytes: Buffer) => captured.push(bytes)).on('error', () => undefined);
      from.pipe(to);
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('keys and values are encrypted on the way', async () => {
  const { port } = await serve();
  const captured: Buffer[] = [];
  const store = await open(await tap(port, captured));
  const value = randomBytes(4096);
  await store.set('a key that is longer than others', value);
  expect(Buffer.from(await store.get('a key that is longer than others')).equals(value)).toBe(true);
  const all = Buffer.concat(captured);
  expect(all.length).toBeGreaterThan(2 * value.length);
  for (const part of [value.subarray(0, 64), Buffer.from('a key that'), Buffer.from(protocolName)])
    expect(all.includes(part)).toBe(false);
});

test('the bytes of a member, recorded and sent again, change nothing, and are counted in the log', async () => {
  const { port } = await serve();
  const recorded: Buffer[] = [];
  const relay = createServer((near) => {
    const far = connect(port, host);
    near.on('data', (bytes: Buffer) => recorded.push(bytes));
    for (const socket of [near, far]) socket.on('error', () => undefined);
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => relay.listen(0, host, resolve));
  onTestFinished(() => void relay.close());
  const member = await open((relay.address() as AddressInfo).port);
  expect(await member.add('counter', 1)).toBe(1);

  const log = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  onTestFinished(() => {
    log.mockRestore();
  });
  const replayed = connect(port, host);
  replayed.on('error', () => undefined).resume();
  for (const bytes of recorded) replayed.write(bytes);
  await new Promise((resolve) => replayed.once('close', resolve));
  expect(await member.add('counter', 1)).toBe(2);
  const line = expect.stringMatching(
    /the store at \S+ has refused 1 connection because of the secret\./,
  ) as string;
  await expect.poll(() => log.mock.calls.flat()).toContainEqual(line);
});
