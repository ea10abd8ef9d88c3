import crc32c from 'crc-32/crc32c.js';
import { decodeMessage, encodeMessage } from '../protobuf.ts';
import type { Fields } from '../protobuf.ts';

/**
 * The bytes of a `FileStore`'s file: `fileHeader`, then records, each of them
 *
 *     u32 length, little-endian | u32 CRC32C of the message, little-endian | the message: `Record` below
 *
 * A file only grows, under a lock. A record whose bytes are not all there, or whose sum is wrong, and everything behind it, is what a writer left that was
 * killed, or zeros of a file system that crashed; the next writer cuts it off. A reader, who takes no lock, may see a record that is being written in the same state, and looks again.
 */
export const fileHeader = Buffer.from('ringrun-store-file/1\n');

export const recordProto = `
  syntax = "proto3";
  package ringrun;

  message Record {
    string client = 1;      // differs for every opening of the file
    oneof entry {
      Joined joined = 2;
      Left left = 3;
      Withdrawn withdrawn = 4;
      bytes request = 5;    // a Request of the store over ZeroMQ that changes something: all who read the file let it take effect, in the file's order
    }
  }

  message Joined {
    string host = 1;
    uint32 pid = 2;
    uint32 world_size = 3;  // 0: not said
  }
  message Left {}           // is done with the store
  message Withdrawn {}      // was never a part of the run: what it came for has failed
`;

export type FileRecord = { client: string } & FileEntry;

export type FileEntry =
  | { entry: 'joined'; joined: { host: string; pid: number; worldSize: number } }
  | { entry: 'left' | 'withdrawn' }
  | { entry: 'request'; request: Uint8Array };

/** Length and sum. */
const prefixBytes = 8;

const recordFields: Fields = {
  client: { number: 1, scalar: 'string' },
  joined: {
    number: 2,
    fields: {
      host: { number: 1, scalar: 'string' },
      pid: { number: 2, scalar: 'uint32' },
      worldSize: { number: 3, scalar: 'uint32' },
    },
  },
  left: { number: 3, fields: {} },
  withdrawn: { number: 4, fields: {} },
  request: { number: 5, scalar: 'bytes' },
};

export function encodeRecord({ entry, ...fields }: FileRecord): Buffer {
  const message = encodeMessage(recordFields, { [entry]: {}, ...fields });
  const bytes = Buffer.alloc(prefixBytes + message.length);
  bytes.writeUInt32LE(message.length, 0);
  bytes.writeUInt32LE(crc32c.buf(message) >>> 0, 4);
  bytes.set(message, prefixBytes);
  return bytes;
}

/** The records that are complete, and how many bytes they take. */
export function decodeRecords(bytes: Buffer): { records: FileRecord[]; consumed: number } {
  const records: FileRecord[] = [];
  let consumed = 0;
  for (;;) {
    const message = messageAt(bytes, consumed);
    if (message === undefined) return { records, consumed };
    records.push(recordOf(message));
    consumed += prefixBytes + message.length;
  }
}

function messageAt(bytes: Buffer, start: number): Buffer | undefined {
  if (bytes.length < start + prefixBytes) return undefined;
  const length = bytes.readUInt32LE(start);
  // Every message names its client. Eight zero bytes, which a crashed file system may leave, would pass for an empty one: its sum is 0.
  if (length === 0) return undefined;
  const end = start + prefixBytes + length;
  if (bytes.length < end) return undefined;
  const message = bytes.subarray(start + prefixBytes, end);
  return crc32c.buf(message) >>> 0 === bytes.readUInt32LE(start + 4) ? message : undefined;
}

function recordOf(message: Buffer): FileRecord {
  const { client, ...entries } = decodeMessage(recordFields, message);
  const entry = (['joined', 'left', 'withdrawn'] as const).find((name) => name in entries) ?? 'request';
  return { client, entry, [entry]: entries[entry] } as FileRecord;
}
