import { pipeline } from 'node:stream';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { knownFormat } from '../../storage/known-formats.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';

/** Number of leading bytes that identify the compression of a file. */
const magicBytes = 64;

/** Of Node.js 22.15 and later. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: () => zlib.Gunzip };

/**
 * The bytes of a file, decompressed if its first bytes identify gzip or zstd.
 *
 * @param url its name in errors
 * @param expected kind of file, for errors
 * @throws InvalidDataError for another compression, and for zstd before Node.js 22.15
 */
export async function* decompressed(
  url: string,
  chunks: AsyncIterable<Uint8Array>,
  expected = 'a tar archive',
): AsyncGenerator<Uint8Array, void> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    const start = await firstBytes(source);
    const rest = continued(start, source);
    const compression = compressionOf(url, start, expected);
    if (compression === 'none') yield* rest;
    else if (compression === 'gzip') yield* through(rest, zlib.createGunzip());
    else yield* throughZstd(url, rest, compression.zstd());
  } finally {
    await source.return?.();
  }
}

async function firstBytes(source: AsyncIterator<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (let length = 0; length < magicBytes;) {
    const next = await source.next();
    if (next.done === true) break;
    parts.push(next.value);
    length += next.value.length;
  }
  return Buffer.concat(parts);
}

async function* continued(
  start: Uint8Array,
  source: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  if (start.length > 0) yield start;
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
}

function compressionOf(
  url: string,
  start: Uint8Array,
  expected: string,
): 'none' | 'gzip' | { zstd: () => zlib.Gunzip } {
  const { what, cure } = knownFormat(start) ?? {};
  // Lines of JSON begin as a file of JSON does.
  const isExpected = what === 'JSON' && expected === 'JSON lines';
  if (what === undefined || cure === undefined || isExpected) return 'none';
  if (what === 'compressed by gzip') return 'gzip';
  const isZstd = what === 'compressed by zstd';
  if (isZstd && createZstdDecompress) return { zstd: createZstdDecompress };
  const since = isZstd
    ? `, which Node.js reads from 22.15 on, and this is Node.js ${process.versions.node}`
    : '';
  throw new InvalidDataError(url, `expected ${expected}, but it is ${what}${since}`, cure);
}

/** Node.js decompresses only the first frame, and ignores further ones without an error. */
async function* throughZstd(
  url: string,
  source: AsyncIterable<Uint8Array>,
  stream: zlib.Gunzip,
): AsyncGenerator<Uint8Array, void> {
  let [fed, isRead] = [0, false];
  const counted = async function* () {
    for await (const chunk of source) {
      fed += chunk.length;
      yield chunk;
    }
    isRead = true;
  };
  yield* through(counted(), stream);
  if (isRead && stream.bytesWritten === fed) return;
  throw new InvalidDataError(
    url,
    'expected one zstd frame, got several, one after the other',
    'Compress it again: zstd --decompress --stdout file | zstd.',
  );
}

/** The output of a stream. Throws its errors and those of its source. */
export async function* through<Output = Uint8Array>(
  source: AsyncIterable<Uint8Array>,
  stream: Duplex,
): AsyncGenerator<Output, void> {
  const feeding = promisify(pipeline)(source, stream);
  feeding.catch(() => undefined);
  for await (const chunk of stream) yield chunk as Output;
  await feeding;
}
