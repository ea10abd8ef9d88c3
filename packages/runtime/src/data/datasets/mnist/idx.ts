import { gunzipSync } from 'node:zlib';
import { InvalidDataError } from '../invalid-data-error.ts';

/** The contents of an IDX file of unsigned bytes, with their shape. */
export interface IdxArray {
  readonly shape: readonly number[];
  /** In row-major order. */
  readonly data: Uint8Array;
}

/** The third byte of an IDX file: the type of its elements. */
const unsignedByte = 0x08;
const replaceIt = 'Replace it by the original, or delete it if ringrun downloaded it, and run again';

/**
 * Reads IDX, the format of MNIST's files: a big-endian header (two zero bytes, element type, number of
 * dimensions, then 32 bits for each dimension) and the elements. gzip'd data is recognised by its own first
 * bytes.
 *
 * `file` is its name in errors; `dimensions` is the expected number of dimensions: 3 for images, 1 for
 * labels. Throws `InvalidDataError` if the file is not exactly one such array.
 */
export function parseIdx(bytes: Uint8Array, file: string, dimensions: number): IdxArray {
  const content = isGzip(bytes) ? gunzip(bytes, file) : bytes;
  const headerLength = 4 + 4 * dimensions;
  requireMagic(content, file, dimensions);
  if (content.length < headerLength) {
    throw invalid(file, `its header ends after ${content.length} of ${headerLength} bytes`);
  }
  const header = new DataView(content.buffer, content.byteOffset, headerLength);
  const shape = Array.from({ length: dimensions }, (_, dimension) => header.getUint32(4 + 4 * dimension));
  const data = content.subarray(headerLength);
  requireLength(data.length, shape, file);
  return { shape, data };
}

/** Encodes an uncompressed IDX file. */
export function encodeIdx({ shape, data }: IdxArray): Uint8Array {
  const headerLength = 4 + 4 * shape.length;
  const bytes = new Uint8Array(headerLength + data.length);
  const header = new DataView(bytes.buffer);
  header.setUint32(0, magicOf(shape.length));
  for (const [dimension, size] of shape.entries()) header.setUint32(4 + 4 * dimension, size);
  bytes.set(data, headerLength);
  return bytes;
}

function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function gunzip(bytes: Uint8Array, file: string): Uint8Array {
  try {
    return gunzipSync(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw invalid(file, `its gzip data is corrupt or incomplete (${reason})`, { cause: error });
  }
}

function requireMagic(content: Uint8Array, file: string, dimensions: number): void {
  const found = Buffer.from(content.subarray(0, 4)).toString('hex');
  const expected = magicOf(dimensions).toString(16).padStart(8, '0');
  if (found === expected) return;
  const isOtherIdx = found.startsWith('000008') && found.length === 8;
  const difference = isOtherIdx ? `it has ${content[3]} dimensions, not ${dimensions}` : 'it is no IDX file';
  const beginning = found ? `begins with 0x${found}` : 'is empty';
  throw invalid(file, `${difference}: it ${beginning} where 0x${expected} was expected`);
}

function requireLength(found: number, shape: readonly number[], file: string): void {
  const expected = shape.reduce((product, dimension) => product * dimension, 1);
  if (found === expected) return;
  const difference = found < expected ? 'it is truncated' : 'it has data after its end';
  throw invalid(
    file,
    `${difference}: its header says ${shape.join(' x ')} = ${expected} bytes, and ${found} follow`,
  );
}

function magicOf(dimensions: number): number {
  return (unsignedByte << 8) | dimensions;
}

function invalid(file: string, problem: string, options?: ErrorOptions): InvalidDataError {
  return new InvalidDataError(file, problem, replaceIt, options);
}
