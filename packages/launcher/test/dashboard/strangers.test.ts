// Clients without the token, and slow ones, at the port of a dashboard.
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { repository } from '../../../../test/support/environment.ts';
import type { DashboardServer } from '../../src/dashboard/dashboard-server.ts';
import type { JobFigures } from '../../src/dashboard/job-figures.ts';

const token = 'the-token-of-the-test';
const [maxStrangers, maxMembers] = [128, 32];
const sockets: Socket[] = [];
let port = 0;
let server: DashboardServer;

beforeAll(async () => {
  // The thread runs the compiled file.
  const built = pathToFileURL(join(repository, 'packages/launcher/dist/dashboard/dashboard-server.js')).href;
  const module = (await import(built)) as { DashboardServer: typeof DashboardServer };
  port = await freePort();
  server = await module.DashboardServer.listen({ host: '127.0.0.1', port, isChosen: true }, token);
  // A page of about 1 MB, more than a socket holds.
  const events = Array.from({ length: 5000 }, (_, at) => ({ at, what: 'x'.repeat(200) }));
  server.show({ runId: 'test', restartCount: 0, worldSize: 0, ranks: [], events } satisfies JobFigures);
});

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

afterAll(() => server.close());

const request = (headers: string, path = '/metrics') =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}${headers === '' ? '' : '\r\n'}\r\n`;
const bearer = `authorization: Bearer ${token}`;

/** Connects from an address of loopback, and sends a text. */
async function client(text = '', localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  sockets.push(socket);
  socket.on('error', () => undefined);
  // A connection that is reset at once has no 'connect'.
  await once(socket, 'connect').catch(() => undefined);
  if (text !== '') socket.write(text);
  return socket;
}

const clients = (count: number, text?: string, address?: string) =>
  Promise.all(Array.from({ length: count }, () => client(text, address)));

/** The status of a request by the owner of the job, and the milliseconds that it took. */
async function owner(headers: string | undefined = bearer): Promise<{ status: string; ms: number }> {
  const startedAt = performance.now();
  const socket = await client(request(`${headers}\r\nconnection: close`));
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += String(chunk)));
  await closed(socket);
  return { status: /^HTTP\/1.1 (\d+)/.exec(answer)?.[1] ?? 'none', ms: performance.now() - startedAt };
}

async function expectServed(times = 5): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    const waitedBefore = waitedForProcessorMs();
    const { status, ms } = await owner();
    expect(status).toBe('200');
    expect(ms - (waitedForProcessorMs() - waitedBefore)).toBeLessThan(5000);
  }
}

/**
 * Milliseconds that the thread of the dashboard has waited for a processor (`schedstat` of proc(5)): beside other tests, a
 * thread of the lowest priority waits for seconds. Zero where the kernel does not tell.
 */
function waitedForProcessorMs(): number {
  const tasks = '/proc/self/task';
  if (!existsSync(tasks)) return 0;
  const thread = readdirSync(tasks).find((id) => getPriority(Number(id)) === 19);
  if (thread === undefined || !existsSync(join(tasks, thread, 'schedstat'))) return 0;
  return Number(readFileSync(join(tasks, thread, 'schedstat'), 'utf8').split(' ')[1]) / 1e6;
}

const half = 'GET / HTTP/1.1\r\nhost: x\r\nx: ';
/** Not by `once`, which rejects if the connection is reset. */
const closed = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => {
    if (socket.closed) resolve(undefined);
    else socket.once('close', resolve);
  });

test.each([
  ['send nothing', ''],
  ['send half a request', half],
  ['send another token, and keep the connection', request('authorization: Bearer another')],
])('300 clients that %s do not keep out the owner', async (_, text) => {
  await clients(300, text);
  await expectServed();
});

test('clients that send a byte from time to time are closed, the oldest first and all after 5 s', async () => {
  const slow = await clients(maxStrangers, half);
  const trickle = setInterval(() => {
    for (const socket of slow) if (!socket.destroyed) socket.write('x');
  }, 500);
  try {
    const closing = slow.map(closed);
    await client();
    await closing[0];
    await expectServed(1);
    await Promise.all(closing);
  } finally {
    clearInterval(trickle);
  }
}, 20_000);

test('an address with few connections keeps them', async () => {
  const patient = await client(half, '127.0.0.2');
  await clients(maxStrangers + 50, half, '127.0.0.3');
  patient.write(`x\r\n${bearer}\r\n\r\n`);
  const [answer] = (await once(patient, 'data')) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1.1 200/);
});

test('clients with the token that read nothing give way to a new request', async () => {
  const ofPages = request(bearer, '/').repeat(3);
  const lazy = (await clients(maxMembers, ofPages)).map((socket) => socket.pause());
  await expectServed(2);
  expect(lazy).toHaveLength(maxMembers);
});

test('requests without the token do not use up those of the owner', async () => {
  // More than the 50 a second that are answered.
  await Promise.all(Array.from({ length: 400 }, () => owner('x: y')));
  await expectServed(1);
});

test('a stranger who connects again and again does not keep out the owner', async () => {
  let isFlooding = true;
  let count = 0;
  const flood = async () => {
    while (isFlooding) {
      await client(half);
      count += 1;
    }
  };
  const floods = Array.from({ length: 10 }, flood);
  await expectServed(10);
  isFlooding = false;
  await Promise.all(floods);
  expect(count).toBeGreaterThan(maxStrangers);
});
