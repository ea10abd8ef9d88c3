// This test acts as rank 1, and writes messages that no rank of ringrun sends.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import type { NativeListening } from '@ringrun/native';
import { loadNative, nativeDType } from '@ringrun/native';

import { runRanks } from './support/ranks.ts';
import type { MessageFields } from './support/rank-by-hand.ts';
import {
  admit,
  broadcastOf,
  connectAsRank,
  controlOf,
  endpointsOf,
  formGroupWithRankByHand,
  messageOf,
  Reader,
} from './support/rank-by-hand.ts';

const timeoutMs = 20_000;
const { uint8 } = nativeDType;
const address = '127.0.0.1';
const eagerBytes = 16 * 1024;

type Sent = MessageFields & { elements?: number };
const [eager, request, , elements] = [1, 2, 3, 4];

/** Rank 0 answers each request with ClearToSend. */
const violations: { what: string; messages: Sent[]; reason: RegExp }[] = [
  {
    what: 'more elements than announced',
    messages: [
      { type: request, id: 1, count: 8 },
      { type: elements, id: 1, count: 64, elements: 64 },
    ],
    reason: /other elements than it had announced/,
  },
  {
    what: 'a short message with the number of an announced one',
    messages: [
      { type: request, id: 1, count: 8 },
      { type: eager, id: 1, count: 64, elements: 64, tag: 1 },
    ],
    reason: /number does not follow the last one/,
  },
  {
    what: 'elements that were not requested',
    messages: [{ type: elements, id: 1, count: 8, elements: 8 }],
    reason: /had not requested/,
  },
  {
    what: 'a message of 2^61 elements without a request',
    messages: [{ type: eager, id: 1, count: 1n << 61n, dtype: nativeDType.float64 }],
    reason: /more than 16 KiB/,
  },
  {
    what: 'a message of 16 KiB + 1 without a request',
    messages: [{ type: eager, id: 1, count: eagerBytes + 1, elements: eagerBytes + 1, tag: 2 }],
    reason: /more than 16 KiB/,
  },
  {
    what: '257 short messages that are not received',
    messages: Array.from({ length: 257 }, (_, i) => ({ type: eager, id: i + 1, tag: 2 })),
    reason: /credits/,
  },
  { what: 'an unknown type', messages: [{ type: 9, id: 1 }], reason: /unknown type/ },
];

test.each(violations)('$what ends the group and changes no memory', async ({ messages, reason }) => {
  await using formed = await formGroupWithRankByHand(timeoutMs);
  const { group, listening } = formed;
  const memory = new Uint8Array(256).fill(7);
  const receiving = [
    group.receive(memory.subarray(64, 72), uint8, 1, 0, timeoutMs),
    group.receive(memory.subarray(128, 192), uint8, 1, 1, timeoutMs),
  ];
  const refused = Promise.allSettled(receiving);
  const connection = await connectAsRank(listening, 'pointToPoint');
  const reader = new Reader(connection);
  for (const message of messages) {
    connection.write(messageOf(message));
    connection.write(Buffer.alloc(message.elements ?? 0, 1));
    if (message.type === request) expect((await reader.take(40)).readUInt16LE(4)).toBe(3);
  }
  for (const outcome of await refused) {
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { code: 'PEER_DIED', ranks: [{ rank: 1 }] },
    });
    expect(messageOfFailure(outcome)).toMatch(reason);
  }
  expect([...memory]).toEqual(Array.from({ length: 256 }, () => 7));
  connection.destroy();
});

/** Forms a group whose rank 0 can connect to rank 1, which is this test. */
async function formGroupWithListeningRank() {
  const server = createServer().listen(0, address);
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const group = new (loadNative().ProcessGroup)(0, 2);
  const listening: NativeListening = group.listen(address);
  const [own, other] = endpointsOf(listening);
  const { port } = server.address() as { port: number };
  const formed = group.connect([own, { ...other, port }], '', timeoutMs, 0);
  const control = await connectAsRank(listening, 'control');
  await formed;
  return {
    group,
    accepted: accepted.then(async ([socket]) => {
      await admit(socket, listening);
      return socket;
    }),
    [Symbol.asyncDispose]: async () => {
      control.destroy();
      (await accepted)[0].destroy();
      server.close();
      await group.destroy(timeoutMs).catch(() => undefined);
    },
  };
}

test.each([
  { what: 'a message that was sent already', reply: { type: 3, id: 1 }, reason: /had not announced/ },
  { what: 'a message twice', reply: { type: 3, id: 2 }, reason: /had not announced/ },
  { what: 'a message that does not exist', reply: { type: 3, id: 9 }, reason: /had not announced/ },
  { what: 'more credits than were used', reply: { type: 5, id: 2 }, reason: /had not used/ },
  { what: 'an unknown type', reply: { type: 1, id: 1 }, reason: /unknown type/ },
])('a reply about $what ends the group', async ({ reply, reason }) => {
  await using formed = await formGroupWithListeningRank();
  const { group } = formed;
  const sent = group.send(new Uint8Array(1), uint8, 1, 0, timeoutMs);
  const announced = group.send(new Uint8Array(eagerBytes + 1), uint8, 1, 0, timeoutMs);
  const waiting = group.send(new Uint8Array(eagerBytes + 1), uint8, 1, 0, timeoutMs);
  const failed = Promise.allSettled([announced, waiting]);
  const connection = await formed.accepted;
  await sent;
  if (reply.id === 2 && reply.type === 3) connection.write(messageOf({ type: 3, id: 2 }));
  connection.write(messageOf(reply));
  const outcome = (await failed).at(-1)!;
  expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'PEER_DIED' } });
  expect(messageOfFailure(outcome)).toMatch(reason);
});

test('a rank sends 256 short messages that no rank receives, and then waits for receives', async () => {
  await using formed = await formGroupWithListeningRank();
  const { group } = formed;
  const sending = Array.from({ length: 300 }, () =>
    group.send(new Uint8Array(1), uint8, 1, 0, timeoutMs).then(
      () => 'sent',
      () => 'failed',
    ),
  );
  const reader = new Reader(await formed.accepted);
  const types: number[] = [];
  while (types.length < sending.length) {
    const message = await reader.take(40);
    types.push(message.readUInt16LE(4));
    if (types.at(-1) === eager) await reader.take(1);
  }
  expect(types).toEqual(Array.from({ length: 300 }, (_, i) => (i < 256 ? eager : request)));
  expect(await Promise.all(sending.slice(0, 256))).not.toContain('failed');
});

test('1,000 short messages arrive in order if all are sent before the first receive', async () => {
  await runRanks([0, 1], 'manyMessagesBeforeTheirReceives', { count: 1000 });
});

test('a rank that does not read is sent at most 64 status messages', async () => {
  await using formed = await formGroupWithRankByHand(timeoutMs);
  const { group, listening, control } = formed;
  const reader = new Reader(control);
  const connecting = connectAsRank(listening, 'data');
  const received = new Uint8Array(1);
  let sequence = 0;
  const broadcast = () => {
    sequence += 1;
    return group.broadcast(received, uint8, 1, timeoutMs);
  };
  const statusOf = async () => (await reader.take(12 + 24)).readUInt16LE(4);
  for (let i = 0; i < 32; i += 1) {
    const operation = broadcast();
    const data = await connecting;
    expect(await statusOf()).toBe(1);
    data.write(broadcastOf(sequence));
    await operation;
    expect((await reader.take(12)).readUInt16LE(4)).toBe(5);
  }
  const data = await connecting;
  const unannounced = broadcast();
  await sleep(300);
  data.write(broadcastOf(sequence));
  await unannounced;
  expect(reader.available).toBe(0);

  const read = Buffer.alloc(4);
  read.writeUInt32LE(64);
  control.write(controlOf(6, read));
  const announced = broadcast();
  expect(await statusOf()).toBe(1);
  data.write(broadcastOf(sequence));
  await announced;
  data.destroy();
});

test.each([
  { what: 'a failure report with more ranks than it holds', body: abortOf({ involved: 0xffff_ffff }) },
  { what: 'a failure report about a rank outside the group', body: abortOf({ involved: 1, rank: 9 }) },
])('$what counts as a malformed report of its sender', async ({ body }) => {
  await using formed = await formGroupWithRankByHand(timeoutMs);
  const waiting = formed.group.barrier(false, timeoutMs);
  formed.control.write(controlOf(2, body));
  await expect(waiting).rejects.toMatchObject({
    code: 'PEER_DIED',
    message: expect.stringMatching(/malformed failure report/) as string,
    ranks: [{ rank: 1 }],
  });
});

test('control characters in the text of a failure report are removed', async () => {
  await using formed = await formGroupWithRankByHand(timeoutMs);
  const waiting = formed.group.barrier(false, timeoutMs);
  const text = Buffer.from('\u001b[2Jcleared\n');
  formed.control.write(controlOf(2, Buffer.concat([abortOf({ involved: 0 }), text])));
  await expect(waiting).rejects.toMatchObject({
    message: expect.stringMatching(/\?\[2Jcleared\?$/) as string,
  });
});

function messageOfFailure(outcome: PromiseSettledResult<unknown>): string {
  return outcome.status === 'rejected' ? (outcome.reason as Error).message : 'it did not fail';
}

function abortOf({ involved, rank }: { involved: number; rank?: number }): Buffer {
  const body = Buffer.alloc(16 + (rank === undefined ? 0 : 32));
  body.writeUInt32LE(1, 8);
  body.writeUInt32LE(involved, 12);
  if (rank !== undefined) body.writeUInt32LE(rank, 16 + 24);
  return body;
}
