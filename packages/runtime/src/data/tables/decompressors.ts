import * as zlib from 'node:zlib';
import { isMissingPackage, missingPackage } from '@ringrun/core';

/** Decompresses a buffer whose decompressed length is known. */
export type Decompress = (input: Uint8Array, length: number) => Uint8Array;

/** Of Node.js 22.15 and later. */
const { zstdDecompressSync } = zlib as { zstdDecompressSync?: (input: Uint8Array) => Uint8Array };

/** An optional package, for zstd before Node.js 22.15. */
const fzstd = 'fzstd';

/**
 * Decompresses zstd: by Node.js from 22.15 on, otherwise by the package fzstd.
 *
 * @param use what needs it, for the error without the package
 * @throws RingrunError `ERR_PACKAGE_MISSING`
 */
export async function zstdDecompressor(use: string): Promise<Decompress> {
  if (zstdDecompressSync) return (input) => zstdDecompressSync(input);
  try {
    const { decompress } = await import('fzstd');
    return (input, length) => decompress(input, new Uint8Array(length));
  } catch (error) {
    if (isMissingPackage(error, fzstd)) throw missingPackage(use, fzstd, error);
    throw error;
  }
}

/** Decompresses gzip. */
export const gunzip: Decompress = (input) => zlib.gunzipSync(input);

/** Decompresses brotli. */
export const brotli: Decompress = (input) => zlib.brotliDecompressSync(input);

const lz4FrameMagic = 0x184d2204;

/** Decompresses one LZ4 frame, as Arrow's files have for each buffer. Checksums are not compared. */
export function lz4Frame(input: Uint8Array, length: number): Uint8Array {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  if (view.getUint32(0, true) !== lz4FrameMagic) throw new Error('expected a frame of LZ4');
  const flags = view.getUint8(4);
  const [hasChecksums, hasSize, hasDictionary] = [flags & 0x10, flags & 0x08, flags & 0x01];
  let at = 6 + (hasSize ? 8 : 0) + (hasDictionary ? 4 : 0) + 1;
  const output = new Uint8Array(length);
  let filled = 0;
  for (;;) {
    const header = view.getUint32(at, true);
    at += 4;
    if (header === 0) break;
    const size = header & 0x7fffffff;
    const block = input.subarray(at, at + size);
    // Its highest bit marks a block that is not compressed. Others may refer to the output of blocks before them.
    if (header >>> 31) output.set(block, filled);
    filled = header >>> 31 ? filled + size : lz4BlockInto(block, output, filled);
    at += size + (hasChecksums ? 4 : 0);
  }
  if (filled !== length) throw new Error(`expected ${length} bytes of LZ4, got ${filled}`);
  return output;
}

/** Decompresses one LZ4 block, as Parquet's LZ4_RAW. */
export function lz4Block(input: Uint8Array, length: number): Uint8Array {
  const output = new Uint8Array(length);
  const filled = lz4BlockInto(input, output, 0);
  if (filled !== length) throw new Error(`expected ${length} bytes of LZ4, got ${filled}`);
  return output;
}

/** Writes a block's bytes from `filled` on. Returns the end of them. */
function lz4BlockInto(input: Uint8Array, output: Uint8Array, filled: number): number {
  let at = 0;
  const extended = (length: number): number => {
    if (length !== 15) return length;
    let more: number;
    do length += more = input[at++];
    while (more === 255);
    return length;
  };
  while (at < input.length) {
    const token = input[at++];
    const literals = extended(token >> 4);
    if (at + literals > input.length || filled + literals > output.length)
      throw new Error('a block of LZ4 is corrupt');
    output.set(input.subarray(at, at + literals), filled);
    filled += literals;
    at += literals;
    // The last sequence of a block has only literals.
    if (at >= input.length) break;
    const distance = input[at] | (input[at + 1] << 8);
    at += 2;
    const length = extended(token & 15) + 4;
    if (distance === 0 || distance > filled || !(filled + length <= output.length))
      throw new Error('a block of LZ4 is corrupt');
    if (distance >= length) output.copyWithin(filled, filled - distance, filled - distance + length);
    // The copy overlaps its source, which repeats it.
    else for (let i = 0; i < length; i += 1) output[filled + i] = output[filled + i - distance];
    filled += length;
  }
  return filled;
}
