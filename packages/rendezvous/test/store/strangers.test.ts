import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { builtFile } from '../../../../test/support/built-script.ts';
import { connectStore } from '../../src/store/client.ts';
import { Milestones } from '../../src/store/milestones.ts';
import { oldestStrangers, reserveOf } from '../../src/store/strangers.ts';

const connection = (fd: number, ackedBytes: number, silentMs: number) => ({
  fd,
  peer: `127.0.0.1 ${fd}`,
  ackedBytes,
  silentMs,
});

describe('strangers that must go', () => {
  test('are those on which the server was silent for longest; members stay', () => {
    const connections = [
      connection(5, 301, 9000),
      connection(6, 246, 10),
      connection(9, 64, 8000),
      connection(8, 64, 8000),
      connection(7, 0, 500),
    ];
    const fds = (count: number) => oldestStrangers(connections, true, count).map(({ fd }) => fd);
    expect(fds(3)).toEqual([8, 9, 7]);
    expect(fds(10)).toEqual([8, 9, 7, 6]);
    expect(fds(-1)).toEqual([]);
  });

  test('without a secret, are those that never received a reply', () => {
    const connections = [connection(5, 170, 9000), connection(6, 107, 10), connection(7, 64, 20)];
    expect(oldestStrangers(connections, false, 9).map(({ fd }) => fd)).toEqual([7, 6]);
  });
});

test('a quarter of the descriptors is reserved, at most 256', () => {
  expect([60, 1024, 20_000].map(reserveOf)).toEqual([15, 256, 256]);
});

test('counts are reported at each power of ten', () => {
  const reports: string[] = [];
  const milestones = new Milestones((connections) => reports.push(connections));
  for (const count of [1, 1, 7, 1, 5, 90, 1]) milestones.add(count);
  expect(reports).toEqual(['1 connection', '10 connections', '105 connections']);
});

/** A server in a process that may open `limit` files; answers each message with its number of descriptors. */
async function serve(limit: number, secret: string) {
  const script = fileURLToPath(builtFile(new URL('strangers.script.ts', import.meta.url)));
  const child = spawn('bash', ['-c', `ulimit -n ${limit} && exec "$0" "$1"`, process.execPath, script], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    env: { ...process.env, RINGRUN_SECRET: secret },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr!.on('data', (text: Buffer) => (stderr += text.toString()));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const look = async () => {
    child.send('look');
    return ((await once(child, 'message')) as [{ descriptors: number | string; spawned: string }])[0];
  };
  return { port, look, stderr: () => stderr };
}

/** Resolves when the kernel has taken or refused the connection. */
async function settled(socket: Socket): Promise<void> {
  if (socket.connecting) await once(socket, 'connect').catch(() => undefined);
}

/** The greeting of ZMTP 3 with CURVE (RFC 23). */
const greeting = Buffer.alloc(64);
greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]);
greeting.write('CURVE', 12);

const kinds = {
  'send nothing': undefined,
  'send a greeting and no more': greeting,
  'send one byte': greeting.subarray(0, 1),
  'send garbage': Buffer.from('GET / HTTP/1.1\r\n\r\n'),
};

test.each(Object.entries(kinds))(
  'strangers that %s leave a store with few descriptors room for members and files',
  async (_, word) => {
    const secret = 'correct horse battery staple';
    const server = await serve(128, secret);
    vi.stubEnv('RINGRUN_SECRET', secret);
    onTestFinished(() => void vi.unstubAllEnvs());
    const at = { host: '127.0.0.1', port: server.port, timeoutMs: 20_000, log: () => undefined };
    const early = await connectStore(at);
    expect(await early.add('calls', 1)).toBe(1);
    const strangers: Socket[] = [];
    onTestFinished(() => {
      for (const socket of strangers) socket.destroy();
    });
    for (let i = 0; i < 300; i += 1) {
      const socket = connect(server.port, '127.0.0.1');
      strangers.push(socket.on('error', () => undefined).resume());
      socket.once('connect', () => {
        if (word !== undefined) socket.write(word);
      });
    }
    await Promise.all(strangers.map(settled));
    // The server may be accepting still.
    await expect.poll(server.look, { timeout: 10_000 }).toMatchObject({
      descriptors: expect.toSatisfy((n: number) => n <= 128 - 32) as number,
      spawned: 'ok',
    });
    const late = await connectStore(at);
    expect(await late.add('calls', 1)).toBe(2);
    expect(await early.add('calls', 1)).toBe(3);
    expect(server.stderr()).not.toMatch(/EMFILE/);
    await Promise.all([early.close(), late.close()]);
  },
);
