import { randomBytes } from 'node:crypto';

import { expect, test } from 'vitest';

import type { NativeProcessGroup } from '@ringrun/native';
import { nativeDType, nativeReduceOp } from '@ringrun/native';

import type { Passing } from './support/pair.ts';
import { connectPair } from './support/pair.ts';

const timeoutMs = 20_000;
const keys = [Buffer.alloc(32, 7), Buffer.alloc(32, 7)] as const;
const { uint8 } = nativeDType;
const { sum } = { sum: nativeReduceOp.SUM };
const pieceBytes = 16;

/** Transfers `sent` between two ranks whose connections pass `look`. */
type Transfer = (
  look: (passing: Passing) => void,
  sent: Uint8Array,
  encrypt: boolean,
) => Promise<{ received: Uint8Array; outcomes: PromiseSettledResult<unknown>[] }>;

/** Broadcasts `sent` from rank 0 to rank 1. */
const broadcastPast: Transfer = async (look, sent, encrypt) => {
  await using pair = await connectPair({ timeoutMs, keys, encrypt, look });
  const received = new Uint8Array(sent.length);
  const outcomes = await Promise.allSettled(
    pair.groups.map((group, rank) => group.broadcast(rank === 0 ? sent : received, uint8, 0, timeoutMs)),
  );
  return { received, outcomes };
};

/** Sends `sent` from rank 1 to rank 0 in one message. */
const sendPast: Transfer = async (look, sent, encrypt) => {
  await using pair = await connectPair({ timeoutMs, keys, encrypt, look });
  const received = new Uint8Array(sent.length);
  const outcomes = await Promise.allSettled([
    pair.groups[0].receive(received, uint8, 1, 0, timeoutMs),
    pair.groups[1].send(sent, uint8, 0, 0, timeoutMs),
  ]);
  return { received, outcomes };
};

const transfers = { broadcast: broadcastPast, 'long message': sendPast };

test.each(Object.entries(transfers))('a %s passes a relay in pieces of any size', async (_, transfer) => {
  const sent = randomBytes(1_000_003);
  const { received, outcomes } = await transfer(() => undefined, sent, true);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(Buffer.from(received).equals(sent)).toBe(true);
});

test('captured bytes contain a job’s parameters without encryption, but not with it', async () => {
  const parameters = randomBytes(100_000);
  const pieces = new Set<string>();
  for (let at = 0; at + pieceBytes <= parameters.length; at += pieceBytes) {
    pieces.add(parameters.toString('latin1', at, at + pieceBytes));
  }
  const found = async (encrypt: boolean, transfer: Transfer) => {
    const captured = new Map<string, Buffer[]>();
    const look = ({ purpose, ofDialler, bytes }: Passing) => {
      const direction = `${purpose} ${ofDialler}`;
      captured.set(direction, [...(captured.get(direction) ?? []), Buffer.from(bytes)]);
    };
    const { received } = await transfer(look, parameters, encrypt);
    expect(Buffer.from(received).equals(parameters)).toBe(true);
    const shown = new Set<string>();
    for (const direction of captured.values()) {
      const text = Buffer.concat(direction).toString('latin1');
      for (let at = 0; at + pieceBytes <= text.length; at += 1) {
        const piece = text.slice(at, at + pieceBytes);
        if (pieces.has(piece)) shown.add(piece);
      }
    }
    return shown.size;
  };
  for (const transfer of Object.values(transfers)) {
    expect(await found(false, transfer)).toBe(pieces.size);
    expect(await found(true, transfer)).toBe(0);
  }
});

const [control, data, pointToPoint] = [1, 2, 3];

/** Changes one bit of the first bytes after the handshake, at `at`, of the connections with this purpose. */
function flipping(purpose: number, at: number): (passing: Passing) => void {
  return (passing) => {
    // The dialler's side of a handshake has 84 bytes, the listener's 64.
    const position = at + (passing.ofDialler ? 84 : 64) - passing.offset;
    if (passing.purpose === purpose && position >= 0 && position < passing.bytes.length)
      passing.bytes[position] ^= 8;
  };
}

test.each([
  { what: 'the length of a record', at: 3 },
  { what: 'the text', at: 50_000 },
  { what: 'the tag', at: 4 + 65_536 + 3 },
])('one bit of $what that changes in transit ends the group before it is used', async ({ at }) => {
  const sent = new Uint8Array(200_000).fill(5);
  for (const [transfer, purpose, kind] of [
    [broadcastPast, data, 'data'],
    [sendPast, pointToPoint, 'point-to-point'],
  ] as const) {
    // The announcement and its reply are the first records of a long message.
    const position = transfer === sendPast ? at + 4 + 40 + 16 : at;
    const { outcomes, received } = await transfer(flipping(purpose, position), sent, true);
    const altered = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
    expect(altered.length).toBeGreaterThan(0);
    for (const error of altered) {
      expect(error).toMatchObject({ code: 'ALTERED' });
      expect(error.message).toMatch(
        new RegExp(`encrypted ${kind} connection between rank \\d and rank \\d \\(127.*\\) were changed`),
      );
    }
    expect(received.every((byte) => byte === 0 || byte === 5)).toBe(true);
  }
});

test('without encryption, a bit that changes in transit is delivered', async () => {
  const sent = new Uint8Array(200_000).fill(5);
  const { received } = await broadcastPast(flipping(data, 50_000), sent, false);
  expect(received.filter((byte) => byte !== 5)).toEqual(Uint8Array.of(5 ^ 8));
});

test('a control record that changes in transit ends the group', async () => {
  await using pair = await connectPair({ timeoutMs, keys, encrypt: true, look: flipping(control, 6) });
  const memory = new Uint8Array(1);
  // Rank 0 waits long enough to send its status, which is changed in transit.
  const waiting = pair.groups[0].broadcast(memory, uint8, 1, timeoutMs);
  const receiving = pair.groups[1].receive(memory, uint8, 0, 0, timeoutMs);
  const outcomes = await Promise.allSettled([waiting, receiving]);
  expect(outcomes).toMatchObject([
    { reason: { code: 'ALTERED' } },
    { reason: { code: 'ALTERED', message: expect.stringMatching(/encrypted control connection/) as string } },
  ]);
});

test('sums of 2 ranks are bit-identical with and without encryption', async () => {
  const values = Array.from({ length: 2 }, () =>
    Float32Array.from(randomBytes(70_001), (byte) => byte / 7 - 17),
  );
  const sums = async (encrypt: boolean) => {
    await using pair = await connectPair({ timeoutMs, keys, encrypt });
    const arrays = values.map((one) => one.slice());
    await Promise.all(
      pair.groups.map((group: NativeProcessGroup, rank) =>
        group.allReduce(arrays[rank], nativeDType.float32, sum, timeoutMs),
      ),
    );
    return arrays;
  };
  expect(await sums(true)).toEqual(await sums(false));
});
