import { constants, gunzipSync } from 'node:zlib';
import { InvalidDataError } from '../invalid-data-error.ts';

/** The contents of an IDX file of unsigned bytes, with their shape. */
export interface IdxArray {
  readonly shape: readonly number[];
  /** In row-major order. */
  readonly data: Uint8Array;
}

/** The third byte of an IDX file: the type of its elements. */
const unsignedByte = 0x08;

/** Maximum bytes of an array in a gzip file, 20 times MNIST's. */
const maxElements = 2 ** 30;

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
  const headerLength = 4 + 4 * dimensions;
  // A damaged or hostile gzip file may expand a thousandfold, so its header is read and checked first.
  const start = isGzip(bytes) ? gunzipStart(bytes, file) : bytes;
  requireMagic(start, file, dimensions);
  const shape = shapeIn(start, file, dimensions);
  const content = isGzip(bytes) ? gunzip(bytes, file, headerLength, shape) : bytes;
  const data = content.subarray(headerLength);
  requireLength(data.length, shape, file);
  return { shape, data };
}

function shapeIn(start: Uint8Array, file: string, dimensions: number): number[] {
  const headerLength = 4 + 4 * dimensions;
  if (start.length < headerLength) {
    throw invalid(file, `its header ends after ${start.length} of ${headerLength} bytes`);
  }
  const header = new DataView(start.buffer, start.byteOffset, headerLength);
  return Array.from({ length: dimensions }, (_, dimension) => header.getUint32(4 + 4 * dimension));
}

function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, dimension) => product * dimension, 1);
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

/** The beginning of the contents, at most 4 MiB. */
function gunzipStart(bytes: Uint8Array, file: string): Uint8Array {
  try {
    return gunzipSync(bytes.subarray(0, 4096), { finishFlush: constants.Z_SYNC_FLUSH });
  } catch (error) {
    throw corrupt(file, error);
  }
}

/** Expands at most to the size in the header. */
function gunzip(bytes: Uint8Array, file: string, headerLength: number, shape: readonly number[]): Uint8Array {
  const elements = elementsOf(shape);
  const claim = `its header says ${shape.join(' x ')} = ${elements} bytes`;
  if (elements > maxElements) throw invalid(file, `${claim}, expected at most ${maxElements} in a gzip file`);
  try {
    return gunzipSync(bytes, { maxOutputLength: headerLength + elements });
  } catch (error) {
    // zlib's own errors are of other classes.
    if (!(error instanceof RangeError)) throw corrupt(file, error);
    throw invalid(file, `it has data after its end: ${claim}, and its gzip data expands to more`);
  }
}

function corrupt(file: string, error: unknown): InvalidDataError {
  const reason = error instanceof Error ? error.message : String(error);
  return invalid(file, `its gzip data is corrupt or incomplete (${reason})`, { cause: error });
}

function requireMagic(content: Uint8Array, file: string, dimensions: number): void {
  const found = Buffer.from(content.subarray(0, 4)).toString('hex');
  const expected = magicOf(dimensions).toString(16).padStart(8, '0');
  if (found === expected) return;
  const isOtherIdx = found.startsWith('000008') && found.length === 8;
  const difference = isOtherIdx
    ? `it has ${content[3]} dimensions, not ${dimensions}`
    : 'it is not an IDX file';
  const beginning = found ? `begins with 0x${found}` : 'is empty';
  throw invalid(file, `${difference}: it ${beginning} where 0x${expected} was expected`);
}

function requireLength(found: number, shape: readonly number[], file: string): void {
  const expected = elementsOf(shape);
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
