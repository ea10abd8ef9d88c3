import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import type { NativeListening } from '@ringrun/native';

import {
  closed,
  connectAsRank,
  connectTo,
  formGroupWithRankByHand,
  helloOf,
  identify,
  messageOf,
  purposes,
} from './support/rank-by-hand.ts';

const timeoutMs = 30_000;

test('a stranger that sends one byte and stays costs a waiting rank no processor time', async () => {
  await using formed = await formGroupWithRankByHand(timeoutMs);
  const { group, listening, control } = formed;
  const waiting = group.barrier(false, timeoutMs);
  const stranger = await connectTo(listening);
  stranger.write('R');
  await sleep(100);
  const [before, since] = [process.cpuUsage(), performance.now()];
  await sleep(500);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan((performance.now() - since) / 10);
  control.destroy();
  await expect(waiting).rejects.toMatchObject({ code: 'PEER_DIED' });
  stranger.destroy();
});

test('strangers are closed at once for invalid bytes, after 5 s for too few', async () => {
  await using formed = await formGroupWithRankByHand(timeoutMs);
  const { group, listening, control } = formed;
  const waiting = group.barrier(false, timeoutMs);
  const [silent, slow] = [await connectTo(listening), await connectTo(listening)];
  const ends: string[] = [];
  const silentClosed = closed(silent).then(() => ends.push('silent'));
  slow.write(helloOf().subarray(0, -1));

  const refused = {
    'another magic': helloOf({ magic: 'HTTP' }),
    'an unknown purpose': helloOf({ purpose: 4 }),
    'a rank outside the group': helloOf({ rank: 2 }),
    'the rank that listens': helloOf({ rank: 0 }),
    'another listener': helloOf({ listener: 1 }),
    'a lane of a control connection': helloOf({ lane: 1 }),
    'more lanes than a link has': helloOf({ purpose: purposes.data, lane: 129 }),
  };
  for (const [what, hello] of Object.entries(refused)) {
    const stranger = await connectTo(listening);
    stranger.write(hello);
    await closed(stranger);
    ends.push(what);
  }
  await closed(slow);
  await silentClosed;
  expect(ends).toEqual([...Object.keys(refused), 'silent']);
  control.destroy();
  await expect(waiting).rejects.toMatchObject({ code: 'PEER_DIED' });
});

test('operations that await no connection leave most strangers queued, and refuse all in time', async () => {
  await using formed = await formGroupWithRankByHand(timeoutMs);
  const { group, listening } = formed;
  const receive = () => group.receive(new Uint8Array(0), 4, 1, 0, timeoutMs);
  const first = receive();
  const connection = await connectAsRank(listening, 'pointToPoint');
  connection.write(messageOf({ type: 1, id: 1 }));
  await first;
  // Every rank that can send a message has connected.
  let refused = 0;
  const ends: Promise<unknown>[] = [];
  for (let i = 0; i < 200; i += 1) {
    const stranger = await connectTo(listening);
    stranger.write(helloOf({ magic: 'HTTP' }));
    ends.push(closed(stranger).then(() => (refused += 1)));
  }
  connection.write(messageOf({ type: 1, id: 2 }));
  await turn();
  await receive();
  await turn();
  expect(refused).toBeLessThanOrEqual(64);
  const last = receive();
  await Promise.all(ends);
  connection.write(messageOf({ type: 1, id: 3 }));
  await expect(last).resolves.toBe(1);
  connection.destroy();
});

/** Resolves after all ready sockets have been read. */
async function turn(): Promise<void> {
  for (let i = 0; i < 50; i += 1) await immediate();
}

test('a rank whose hello and proof arrive byte by byte is connected', async () => {
  await using formed = await formGroupWithRankByHand(timeoutMs);
  const { group, listening } = formed;
  const received = new Uint8Array(0);
  const receiving = group.receive(received, 4, 1, 0, timeoutMs);
  const connection = await connectTo(listening);
  connection.setNoDelay(true);
  const hello = helloOf({ purpose: purposes.pointToPoint });
  const write = (bytes: Buffer) => {
    for (const byte of bytes) connection.write(Buffer.of(byte));
  };
  await identify(connection, listening, { hello, write });
  connection.write(messageOf({ type: 1, id: 1 }));
  await expect(receiving).resolves.toBe(1);
  connection.destroy();
});

test.each([
  { limit: 60, strangers: 150, descriptors: 60 },
  { limit: 1024, strangers: 150, descriptors: 130 },
])(
  'with a limit of $limit descriptors, a group forms beside $strangers strangers',
  async ({ limit, strangers, descriptors }) => {
    const script = fileURLToPath(new URL('fixtures/listening-rank.js', import.meta.url));
    const command = `ulimit -n ${limit} && exec "$0" "$1"`;
    const child = spawn('bash', ['-c', command, process.execPath, script], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const sockets: Socket[] = [];
    try {
      const [{ listening }] = (await once(child, 'message')) as [{ listening: NativeListening }];
      for (let i = 0; i < strangers; i += 1) sockets.push(await connectTo(listening));
      const answered = once(child, 'message');
      sockets.push(await connectAsRank(listening, 'control'));
      const [report] = (await answered) as [{ descriptors: number }];
      expect(report.descriptors).toBeLessThanOrEqual(descriptors);
    } finally {
      child.kill('SIGKILL');
      for (const socket of sockets) socket.destroy();
    }
  },
  timeoutMs,
);
