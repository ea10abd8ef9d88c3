// This test acts as rank 1, and sends handshakes that no rank of ringrun sends.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import type { NativeListening } from '@ringrun/native';

import { systemOf } from '../compile/systems.js';
import type { Passing } from './support/pair.ts';
import { connectPair } from './support/pair.ts';
import { closed, connectTo, helloOf, identify, proofOf, purposes, Reader } from './support/rank-by-hand.ts';
import { runRanks } from './support/ranks.ts';

const timeoutMs = 20_000;
const key = Buffer.alloc(32, 7);

/** Rank 0 of a group of two in another process, which waits for rank 1. */
async function startListeningRank() {
  const script = fileURLToPath(new URL('fixtures/listening-rank.js', import.meta.url));
  const child = spawn(process.execPath, [script], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    env: { ...process.env, KEY: key.toString('hex') },
  });
  let stderr = '';
  child.stderr!.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
  const [{ listening }] = (await once(child, 'message')) as [{ listening: NativeListening }];
  return {
    child,
    listening,
    lines: async (): Promise<string[]> => {
      while (!stderr.includes('\n')) await once(child.stderr!, 'data');
      return stderr.trimEnd().split('\n');
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

/** Sends `hello`, and what `answerTo` returns for the challenge. Returns the bytes that follow, up to the end. */
async function refusedAfter(
  { token, port }: NativeListening,
  answerTo: (challenge: { token: string; hello: Buffer; nonce: Buffer; proof: Buffer }) => Buffer,
  hello = helloOf(),
): Promise<void> {
  const socket = await connectTo({ port });
  const reader = new Reader(socket);
  socket.write(hello);
  const challenge = await reader.take(64);
  const [nonce, proof] = [challenge.subarray(0, 32), challenge.subarray(32)];
  socket.write(answerTo({ token, hello, nonce, proof }));
  await closed(socket);
  expect(reader.available).toBe(0);
}

test('any process without the key is refused, and one line counts all refusals', async () => {
  using rank = await startListeningRank();
  const { listening } = rank;
  const right = (challenge: { token: string; hello: Buffer; nonce: Buffer }) =>
    proofOf('dialler', { ...challenge, key });

  // A handshake that rank 0 accepted, recorded. Its connection is a data connection, for which rank 0 does not wait.
  const hello = helloOf({ purpose: purposes.data });
  const sent: Buffer[] = [];
  const recorded: Socket = await connectTo(listening);
  const write = (bytes: Buffer) => {
    sent.push(bytes);
    recorded.write(bytes);
  };
  await identify(recorded, listening, { hello, key, write });

  await refusedAfter(listening, () => sent[1], sent[0]); // replayed
  await refusedAfter(listening, ({ proof }) => proof); // reflected
  await refusedAfter(listening, (challenge) => proofOf('dialler', challenge)); // no key
  await refusedAfter(listening, (challenge) => proofOf('dialler', { ...challenge, key: randomBytes(32) }));
  await refusedAfter(listening, (challenge) => proofOf('listener', { ...challenge, key }));
  await refusedAfter(listening, (challenge) => right({ ...challenge, token: '00'.repeat(16) }));
  await refusedAfter(listening, (challenge) => right({ ...challenge, hello: helloOf({ rank: 0 }) }));
  await refusedAfter(listening, () => Buffer.from(listening.token.padEnd(32), 'latin1')); // the token in clear
  const encrypted = await connectTo(listening);
  encrypted.write(helloOf({ protection: 1 }));
  await closed(encrypted);

  expect(await rank.lines()).toEqual([
    "ringrun: rank 0 refused 9 connections (8 without proof of the job's secret, 1 without encryption) from 127.0.0.1",
  ]);
  const formed = once(rank.child, 'message');
  const socket = await connectTo(listening);
  await identify(socket, listening, { key });
  await formed;
  socket.destroy();
  recorded.destroy();
});

test('ranks with different keys fail at once, and the connecting rank reports the secret', async () => {
  for (const keys of [
    [key, Buffer.alloc(32, 8)],
    [key, Buffer.alloc(32)],
    [Buffer.alloc(32), key],
  ] as const) {
    await using pair = await connectPair({ timeoutMs: 600_000, keys });
    const [listener, dialler] = pair.outcomes;
    expect(dialler).toMatchObject({
      status: 'rejected',
      reason: {
        code: 'UNTRUSTED',
        ranks: [{ rank: 0 }],
        message: expect.stringMatching(/another secret.*Set RINGRUN_SECRET/) as string,
      },
    });
    expect(listener).toMatchObject({
      status: 'rejected',
      reason: { code: 'PEER_DIED', ranks: [{ rank: 1 }] },
    });
  }
});

const [ofDialler, ofListener] = [true, false];

test.concurrent.each([
  { what: 'the magic', ofSide: ofDialler, at: 0 },
  { what: 'the version', ofSide: ofDialler, at: 4 },
  { what: 'the purpose', ofSide: ofDialler, at: 6 },
  { what: 'the protection', ofSide: ofDialler, at: 7 },
  { what: 'the rank that connects', ofSide: ofDialler, at: 8 },
  { what: 'the rank that listens', ofSide: ofDialler, at: 12 },
  { what: 'the lane', ofSide: ofDialler, at: 16 },
  { what: 'the nonce of the dialler', ofSide: ofDialler, at: 51 },
  { what: 'the proof of the dialler', ofSide: ofDialler, at: 52 },
  { what: 'the nonce of the listener', ofSide: ofListener, at: 0 },
  { what: 'the proof of the listener', ofSide: ofListener, at: 63 },
])('a relay that changes $what of the handshake connects no ranks', async ({ ofSide, at }) => {
  let changed = 0;
  const look = ({ ofDialler: isOfDialler, offset, bytes }: Passing) => {
    if (isOfDialler !== ofSide || at < offset || at >= offset + bytes.length) return;
    bytes[at - offset] ^= 1;
    changed += 1;
  };
  await using pair = await connectPair({ timeoutMs: 1000, keys: [key, key], look });
  const [listener, dialler] = pair.outcomes;
  expect(listener.status).toBe('rejected');
  // The dialler sends its proof last, and detects in its first operation that it was refused.
  if (dialler.status === 'fulfilled')
    await expect(pair.groups[1].barrier(false, timeoutMs)).rejects.toThrow();
  expect(changed).toBeGreaterThan(0);
});

test('a relay that changes nothing connects two ranks', async () => {
  await using pair = await connectPair({ timeoutMs, keys: [key, key], look: () => undefined });
  expect(pair.outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
});

const strangerProblem =
  systemOf() !== 'linux'
    ? 'the socket is in a folder of this user'
    : process.getuid?.() !== 0
      ? 'becoming another user needs root'
      : undefined;

test.skipIf(strangerProblem)(
  `ranks of another user are refused on Unix sockets, by both sides${strangerProblem ? `: skipped, ${strangerProblem}` : ''}`,
  async () => {
    const uid = 65_534;
    const formed = (rank: number) =>
      runRanks([0, 0], [], { timeoutMs: 1000, userOf: { rank, uid } }).catch((error: unknown) =>
        String(error),
      );
    const [listener, dialler] = await Promise.all([formed(0), formed(1)]);
    expect(listener).toMatch(/rank 1: .*belongs to user 65534. Run all ranks of a host as one user/s);
    expect(dialler).toMatch(/rank 0 refused \d+ connections? \(\d+ from another user\) from user 65534/);
  },
);
