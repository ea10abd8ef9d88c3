import { BFloat16Bits, dtypeOf, Float16Bits, InvalidArgumentError } from '@ringrun/core';
import type { DType } from '@ringrun/core';

/*
 * The safetensors format (https://github.com/huggingface/safetensors), which PyTorch reads with
 * `safetensors.torch.load_file`:
 *
 *   8 bytes   N, the length of the header, little-endian
 *   N bytes   the header: JSON with the dtype and the shape of each tensor, and where its bytes begin and end after the header; padded with spaces to a multiple of 8
 *   the rest  the tensors' elements, row-major and little-endian, one after the other without gaps
 *
 * Tensors with wider elements are written first, so each one starts at a multiple of its element size.
 */

/** Typed arrays that a file can contain; 16-bit floats are bit patterns. */
export type ElementArray =
  | Float64Array
  | Float32Array
  | Float16Bits
  | BFloat16Bits
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array;

/** Row-major elements and their shape. */
export interface ArrayWithShape {
  /** Length of each dimension; the product is `data.length`. */
  shape: readonly number[];
  /** Elements in row-major order. */
  data: ElementArray;
}

type Dtype =
  'F64' | 'F32' | 'F16' | 'BF16' | 'I64' | 'U64' | 'I32' | 'U32' | 'I16' | 'U16' | 'I8' | 'U8' | 'BOOL';

interface ArrayClass {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): ElementArray;
}

const classOf: Readonly<Record<Dtype, ArrayClass>> = {
  F64: Float64Array,
  F32: Float32Array,
  F16: Float16Bits,
  BF16: BFloat16Bits,
  I64: BigInt64Array,
  U64: BigUint64Array,
  I32: Int32Array,
  U32: Uint32Array,
  I16: Int16Array,
  U16: Uint16Array,
  I8: Int8Array,
  U8: Uint8Array,
  BOOL: Uint8Array,
};

const dtypeHere: Readonly<Record<DType, Dtype>> = {
  float64: 'F64',
  float32: 'F32',
  float16: 'F16',
  bfloat16: 'BF16',
  int64: 'I64',
  uint64: 'U64',
  int32: 'I32',
  uint32: 'U32',
  int8: 'I8',
  uint8: 'U8',
};

/** The format's name for an array's dtype; undefined for unsupported arrays and other values. */
export function safetensorsDtype(value: unknown): Dtype | undefined {
  const dtype = dtypeOf(value);
  if (dtype !== undefined) return dtypeHere[dtype];
  const tag = ArrayBuffer.isView(value) && (value as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
  return tag === 'Int16Array' ? 'I16' : tag === 'Uint16Array' ? 'U16' : undefined;
}

/** `F32 [20, 1, 5, 5]`, for errors. */
export function describeArray({ shape, data }: ArrayWithShape): string {
  return `${safetensorsDtype(data) ?? 'no dtype'} [${shape.join(', ')}]`;
}

/** A tensor's entry in the header. */
export interface HeaderEntry {
  dtype: Dtype;
  shape: readonly number[];
  data_offsets: readonly [begin: number, end: number];
}

/** The key of the header's metadata, which is not a tensor. */
const metadataKey = '__metadata__';

/**
 * Encodes tensors as a safetensors file. Elements are copied.
 *
 * @param allocate returns the memory for the file, which is overwritten completely. Default: new memory.
 * @param metadata texts in the header, such as `{ format: 'pt' }` for readers that expect it. Default: none.
 * @throws InvalidArgumentError if a tensor's dtype is not supported, its length does not match its shape, or
 * its name is `__metadata__`
 */
export function encodeSafetensors(
  tensors: ReadonlyMap<string, ArrayWithShape>,
  allocate: (bytes: number) => Uint8Array<ArrayBuffer> = (bytes) => new Uint8Array(bytes),
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  for (const [name, tensor] of tensors) requireTensor(name, tensor);
  const ordered = [...tensors].sort(([, a], [, b]) => b.data.BYTES_PER_ELEMENT - a.data.BYTES_PER_ELEMENT);
  const { header, dataBytes } = headerOf(ordered, metadata);
  const file = allocate(wordBytes + header.length + dataBytes);
  new DataView(file.buffer, file.byteOffset).setBigUint64(0, BigInt(header.length), true);
  file.set(header, wordBytes);
  let offset = wordBytes + header.length;
  for (const [, { data }] of ordered) {
    file.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offset);
    offset += data.byteLength;
  }
  return file;
}

function requireTensor(name: string, { shape, data }: ArrayWithShape): void {
  const who = `encodeSafetensors: ${name}`;
  if (name === metadataKey)
    throw new InvalidArgumentError(`${who} is reserved by the format. Choose another name for the tensor.`);
  if (safetensorsDtype(data) === undefined)
    throw new InvalidArgumentError(
      `${who}: expected a typed array with a dtype that the format supports, got another type.`,
    );
  if (elementsOf(shape) !== data.length) {
    throw new InvalidArgumentError(
      `${who}: expected ${elementsOf(shape)} elements for shape [${shape.join(', ')}], got ${data.length}.`,
    );
  }
}

function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function headerOf(
  tensors: readonly (readonly [string, ArrayWithShape])[],
  metadata: Readonly<Record<string, string>>,
): { header: Uint8Array; dataBytes: number } {
  let dataBytes = 0;
  const entries = tensors.map(([name, { shape, data }]): [string, HeaderEntry] => {
    const begin = dataBytes;
    dataBytes += data.byteLength;
    return [name, { dtype: safetensorsDtype(data)!, shape, data_offsets: [begin, dataBytes] }];
  });
  const first = Object.keys(metadata).length > 0 && { [metadataKey]: metadata };
  const json = Buffer.from(JSON.stringify({ ...first, ...Object.fromEntries(entries) }));
  const header = new Uint8Array(Math.ceil(json.length / wordBytes) * wordBytes).fill(0x20);
  header.set(json);
  return { header, dataBytes };
}

/**
 * Decodes the tensors of a file: views of its bytes if these are aligned, otherwise copies.
 *
 * @throws Error if the bytes are not valid safetensors
 */
export function decodeSafetensors(file: Uint8Array<ArrayBuffer>): Map<string, ArrayWithShape> {
  const length = headerLength(file, file.length);
  const data = file.subarray(wordBytes + length);
  const tensors = new Map<string, ArrayWithShape>();
  for (const [name, entry] of readHeader(file.subarray(wordBytes, wordBytes + length), data.length)) {
    tensors.set(name, { shape: entry.shape, data: elementsAt(entry, data) });
  }
  return tensors;
}

/** Maximum bytes of a header: the limit of the reference implementation. */
const maxHeaderBytes = 100_000_000;

/** Bytes before the header, which hold its length. */
export const wordBytes = 8;

/**
 * Returns the header's length in bytes.
 *
 * @param start the file's first 8 bytes (fewer if it is shorter)
 * @param fileBytes length of the whole file
 * @throws Error if the length is impossible
 */
export function headerLength(start: Uint8Array, fileBytes: number): number {
  const least = wordBytes + '{}'.length;
  if (fileBytes < least) throw new Error(`it has ${fileBytes} bytes, expected ${least} or more`);
  const length = Number(new DataView(start.buffer, start.byteOffset).getBigUint64(0, true));
  if (wordBytes + length > fileBytes) {
    throw new Error(`its header has ${length} bytes, but the file has ${fileBytes}`);
  }
  if (length > maxHeaderBytes) {
    throw new Error(`its header has ${length} bytes, expected at most ${maxHeaderBytes}`);
  }
  return length;
}

/**
 * Returns the tensors of a header in the order of their bytes. They must fill the rest of the file without
 * gaps.
 *
 * @param bytes the header
 * @param available number of bytes after the header
 * @throws Error if the header is invalid
 */
export function readHeader(bytes: Uint8Array, available: number): [name: string, entry: HeaderEntry][] {
  const entries = parsed(bytes).filter(([name]) => name !== metadataKey);
  const checked = entries.map(([name, entry]): [string, HeaderEntry] => [name, checkedEntry(name, entry)]);
  // If several tensors start at one offset, all except the last are empty.
  checked.sort(([, { data_offsets: a }], [, { data_offsets: b }]) => a[0] - b[0] || a[1] - b[1]);
  let covered = 0;
  for (const [name, entry] of checked) {
    requirePlace(name, entry, covered, available);
    covered = entry.data_offsets[1];
  }
  if (covered !== available) throw new Error(`${available - covered} bytes do not belong to any tensor`);
  return checked;
}

function parsed(bytes: Uint8Array): [name: string, entry: unknown][] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch (cause) {
    throw new Error('its header is not JSON', { cause });
  }
  if (typeof header === 'object' && header !== null && !Array.isArray(header)) return Object.entries(header);
  throw new Error('its header is not a JSON object');
}

function checkedEntry(name: string, entry: unknown): HeaderEntry {
  const { dtype, shape, data_offsets } = (entry ?? {}) as Partial<Record<keyof HeaderEntry, unknown>>;
  if (
    typeof dtype !== 'string' ||
    !areCounts(shape) ||
    !areCounts(data_offsets) ||
    data_offsets.length !== 2
  ) {
    throw new Error(`${name} has no valid dtype, shape and data_offsets`);
  }
  if (!Object.hasOwn(classOf, dtype))
    throw new Error(`${name} has the dtype ${dtype}, ${describeDtype(dtype)}`);
  return { dtype: dtype as Dtype, shape, data_offsets: [data_offsets[0], data_offsets[1]] };
}

/** Why a dtype of the format has no array here. */
function describeDtype(dtype: string): string {
  const float = /^F([468])_/.exec(dtype);
  return float
    ? `a float of ${float[1]} bits, which ringrun does not read: save it as bfloat16 or float32 (in PyTorch: tensor.to(torch.bfloat16))`
    : `which ringrun does not read, but ${Object.keys(classOf).join(', ')}`;
}

function areCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((count) => Number.isSafeInteger(count) && count >= 0);
}

function requirePlace(
  name: string,
  { dtype, shape, data_offsets: [begin, end] }: HeaderEntry,
  covered: number,
  available: number,
): void {
  const bytes = elementsOf(shape) * classOf[dtype].BYTES_PER_ELEMENT;
  if (begin !== covered || end - begin !== bytes || end > available) {
    throw new Error(
      `${name} (${dtype} [${shape.join(', ')}]): expected bytes ${covered} to ${covered + bytes}, got ${begin} to ${end} of ${available}`,
    );
  }
}

/** A tensor's elements in the bytes after the header: a view if it is aligned, otherwise a copy. */
export function elementsAt(
  { dtype, data_offsets: [begin, end] }: Pick<HeaderEntry, 'dtype' | 'data_offsets'>,
  data: Uint8Array<ArrayBuffer>,
): ElementArray {
  const Class = classOf[dtype];
  const place = data.byteOffset + begin;
  const isAligned = place % Class.BYTES_PER_ELEMENT === 0;
  const [buffer, offset] = isAligned ? [data.buffer, place] : [data.slice(begin, end).buffer, 0];
  return new Class(buffer, offset, (end - begin) / Class.BYTES_PER_ELEMENT);
}
