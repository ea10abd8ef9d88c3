import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { connectStore } from '../../../packages/rendezvous/src/store/client.ts';
import { decodeRequest, encodeRequest, protocolName } from '../../../packages/rendezvous/src/store/wire.ts';
import type { Call } from '../../../packages/rendezvous/src/store/wire.ts';

/** ZMTP 3 (ZeroMQ RFC 23): the greeting, then frames of flags, length and body. */
export const greetingBytes = 64;
const flag = { more: 1, long: 2 } as const;

/** Keys that strangers may change in a store without a secret. */
export const prefix = 'fuzz/';

interface Frame {
  body: Buffer;
  /** The whole frame. */
  bytes: Buffer;
}

/** The complete frames after a greeting. */
export function framesOf(stream: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = greetingBytes; at + 2 <= stream.length;) {
    const flags = stream[at];
    const isLong = (flags & flag.long) !== 0;
    if (isLong && at + 9 > stream.length) break;
    const length = isLong ? Number(stream.readBigUInt64BE(at + 1)) : stream[at + 1];
    const begin = at + (isLong ? 9 : 2);
    if (begin + length > stream.length) break;
    frames.push({
      body: stream.subarray(begin, begin + length),
      bytes: stream.subarray(at, begin + length),
    });
    at = begin + length;
  }
  return frames;
}

/** One message of ZMTP: the frames of a request to the store. */
export function requestOf(id: number, call: Call): Buffer[] {
  const request = Buffer.from(encodeRequest({ id, call }));
  return [frame(flag.more, Buffer.from(protocolName)), frame(0, request)];
}

function frame(flags: number, body: Buffer): Buffer {
  if (body.length < 256) return Buffer.concat([Buffer.from([flags, body.length]), body]);
  const head = Buffer.alloc(9);
  head[0] = flags | flag.long;
  head.writeBigUInt64BE(BigInt(body.length), 1);
  return Buffer.concat([head, body]);
}

/**
 * Whether a frame of this stream is a call that changes keys of the job: a store without a secret may execute it, and
 * the job would fail. Frames are parsed as by a server that received the greeting unchanged.
 */
export function changesJob(stream: Buffer): boolean {
  return framesOf(stream).some(({ body }) => isChange(body));
}

function isChange(bytes: Buffer): boolean {
  try {
    const { call } = decodeRequest(bytes);
    if (call.op === 'deletePrefix') return !call.prefix.startsWith(prefix);
    if (call.op === 'multiSet') return !call.keys.every((key) => key.startsWith(prefix));
    return (
      ['set', 'add', 'compareSet', 'deleteKey'].includes(call.op) &&
      !('key' in call && call.key.startsWith(prefix))
    );
  } catch {
    return false;
  }
}

/**
 * The bytes that a real client of the store writes: the greeting and each frame. With RINGRUN_SECRET, all but the first
 * two are encrypted.
 */
export async function recordClient(port: number): Promise<Buffer[]> {
  const written: Buffer[] = [];
  const sockets: Socket[] = [];
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    sockets.push(client, server);
    for (const socket of [client, server]) socket.on('error', () => undefined);
    client.on('data', (bytes) => void written.push(bytes)).pipe(server);
    server.pipe(client);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const store = await connectStore({
    host: '127.0.0.1',
    port: (proxy.address() as AddressInfo).port,
    timeoutMs: 10_000,
  });
  await store.set(`${prefix}recorded`, 'a value');
  await store.get(`${prefix}recorded`);
  await store.close();
  for (const socket of sockets) socket.destroy();
  proxy.close();
  await once(proxy, 'close');
  const stream = Buffer.concat(written);
  return [stream.subarray(0, greetingBytes), ...framesOf(stream).map(({ bytes }) => bytes)];
}
