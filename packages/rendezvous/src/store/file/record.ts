import crc32c from 'crc-32/crc32c.js';
import { decodeMessage, encodeMessage } from '../protobuf.ts';
import type { Fields } from '../protobuf.ts';

/**
 * The bytes of a `FileStore`'s file: `fileHeader`, then records, each of them
 *
 *     u32 length, little-endian | u32 CRC32C of the message, little-endian | the message: `Record` below
 *
 * A file only grows, under a lock. An incomplete record, or one with a wrong checksum, and everything after it, was
 * left by a killed writer or is zeros of a crashed file system; the next writer cuts it off. Readers take no lock, so
 * they may also see a record that is being written, and read again later.
 */
export const fileHeader = Buffer.from('ringrun-store-file/2\n');

export const recordProto = `
  syntax = "proto3";
  package ringrun;

  message Record {
    string client = 1;      // unique for every opening of the file
    oneof entry {
      Joined joined = 2;
      Left left = 3;
      Withdrawn withdrawn = 4;
      bytes request = 5;    // a writing Request as over ZeroMQ: every reader applies it, in the file's order
    }
  }

  message Joined {
    string host = 1;
    uint32 pid = 2;
    uint32 world_size = 3;  // 0: unknown
  }
  message Left {}           // has closed the store
  message Withdrawn {}      // does not count as a member: its job has failed to start
`;

export type FileRecord = { client: string } & FileEntry;

export type FileEntry =
  | { entry: 'joined'; joined: { host: string; pid: number; worldSize: number } }
  | { entry: 'left' | 'withdrawn' }
  | { entry: 'request'; request: Uint8Array };

/** Length and checksum. */
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

/**
 * The complete records and their size in bytes.
 *
 * @throws Error for a record with a valid checksum that is not a `Record`
 */
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
  // No message is empty, because each has a client. Eight zero bytes, left by a crashed file system, would be valid:
  // CRC32C of nothing is 0.
  if (length === 0) return undefined;
  const end = start + prefixBytes + length;
  if (bytes.length < end) return undefined;
  const message = bytes.subarray(start + prefixBytes, end);
  return crc32c.buf(message) >>> 0 === bytes.readUInt32LE(start + 4) ? message : undefined;
}

function recordOf(message: Buffer): FileRecord {
  const { client, ...entries } = decodeMessage(recordFields, message);
  const entry = (['joined', 'left', 'withdrawn'] as const).find((name) => name in entries) ?? 'request';
  if (
    typeof client !== 'string' ||
    client === '' ||
    !(entry !== 'request' || entries[entry] instanceof Uint8Array)
  )
    throw new Error('it has no client or no entry');
  return { client, entry, [entry]: entries[entry] } as FileRecord;
}
