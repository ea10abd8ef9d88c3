import { BFloat16Bits, Float16Bits, InvalidArgumentError, dtypeOf } from '@ringrun/collectives';
import type { DType } from '@ringrun/collectives';

/*
 * The safetensors format (https://github.com/huggingface/safetensors), which Python reads with `safetensors.torch.load_file`:
 *
 *   8 bytes   N, the length of the header, little-endian
 *   N bytes   the header: JSON, of each tensor its dtype, its shape, and where its bytes begin and end behind the header; filled up with spaces to a multiple of 8
 *   the rest  the tensors' elements, row-major and little-endian, one behind the other without a gap
 *
 * Tensors of wider elements come first, so that each begins at a multiple of its element's size.
 */

/** Elements that a file may have; all of JavaScript's, and 16-bit floats as bit patterns. */
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
  shape: readonly number[];
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

/** The format's name for an array's dtype; undefined for arrays that it has no name for, and for other values. */
export function safetensorsDtype(value: unknown): Dtype | undefined {
  const dtype = dtypeOf(value);
  if (dtype !== undefined) return dtypeHere[dtype];
  const tag = ArrayBuffer.isView(value) && (value as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
  return tag === 'Int16Array' ? 'I16' : tag === 'Uint16Array' ? 'U16' : undefined;
}

/** `F32 [20, 1, 5, 5]`, for messages. */
export function describeArray({ shape, data }: ArrayWithShape): string {
  return `${safetensorsDtype(data) ?? 'no dtype'} [${shape.join(', ')}]`;
}

/** What a header says of a tensor. */
export interface HeaderEntry {
  dtype: Dtype;
  shape: readonly number[];
  data_offsets: readonly [begin: number, end: number];
}

/** What the format has for a comment in the place of a tensor's name. */
const metadataKey = '__metadata__';

/**
 * A file's bytes, with copies of the elements.
 *
 * @param allocate gives the memory, all of which is overwritten; new memory unless given
 * @throws InvalidArgumentError for a tensor whose elements are of no dtype of the format or do not fill its shape, and for the name `__metadata__`
 */
export function encodeSafetensors(
  tensors: ReadonlyMap<string, ArrayWithShape>,
  allocate: (bytes: number) => Uint8Array<ArrayBuffer> = (bytes) => new Uint8Array(bytes),
): Uint8Array<ArrayBuffer> {
  for (const [name, tensor] of tensors) requireTensor(name, tensor);
  const ordered = [...tensors].sort(([, a], [, b]) => b.data.BYTES_PER_ELEMENT - a.data.BYTES_PER_ELEMENT);
  const { header, dataBytes } = headerOf(ordered);
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
  if (name === metadataKey) throw new InvalidArgumentError(`${who} is no name for a tensor; choose another.`);
  if (safetensorsDtype(data) === undefined)
    throw new InvalidArgumentError(
      `${who} has elements of no dtype that the format has; give a typed array.`,
    );
  if (elementsOf(shape) !== data.length) {
    throw new InvalidArgumentError(
      `${who} has ${data.length} elements, and the shape [${shape.join(', ')}] ${elementsOf(shape)}.`,
    );
  }
}

function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function headerOf(tensors: readonly (readonly [string, ArrayWithShape])[]): {
  header: Uint8Array;
  dataBytes: number;
} {
  let dataBytes = 0;
  const entries = tensors.map(([name, { shape, data }]): [string, HeaderEntry] => {
    const begin = dataBytes;
    dataBytes += data.byteLength;
    return [name, { dtype: safetensorsDtype(data)!, shape, data_offsets: [begin, dataBytes] }];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const header = new Uint8Array(Math.ceil(json.length / wordBytes) * wordBytes).fill(0x20);
  header.set(json);
  return { header, dataBytes };
}

/**
 * The tensors of a file, as views of its bytes where these are aligned, else as copies.
 *
 * @throws Error that says what is wrong with the bytes
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

/** Bytes that a header may have: the limit of the format's own reader. */
const mostHeaderBytes = 100_000_000;

/** Bytes in front of a header. */
export const wordBytes = 8;

/**
 * The header's length in bytes.
 *
 * @param start the file's first bytes, 8 where it has as many
 * @param fileBytes length of the whole file
 * @throws Error where no such file can have this header
 */
export function headerLength(start: Uint8Array, fileBytes: number): number {
  const least = wordBytes + '{}'.length;
  if (fileBytes < least) throw new Error(`it has ${fileBytes} bytes, expected ${least} or more`);
  const length = Number(new DataView(start.buffer, start.byteOffset).getBigUint64(0, true));
  if (wordBytes + length > fileBytes) {
    throw new Error(`its header has ${length} bytes, and the file ${fileBytes}`);
  }
  if (length > mostHeaderBytes) {
    throw new Error(`its header has ${length} bytes, expected at most ${mostHeaderBytes}`);
  }
  return length;
}

/**
 * The tensors that a header lists, in the order of their bytes, which fill the rest of the file without a gap.
 *
 * @param bytes the header
 * @param available bytes behind the header
 * @throws Error that says what is wrong with the header
 */
export function readHeader(bytes: Uint8Array, available: number): [name: string, entry: HeaderEntry][] {
  const entries = parsed(bytes).filter(([name]) => name !== metadataKey);
  const checked = entries.map(([name, entry]): [string, HeaderEntry] => [name, checkedEntry(name, entry)]);
  // Of tensors that begin together all but the last are empty.
  checked.sort(([, { data_offsets: a }], [, { data_offsets: b }]) => a[0] - b[0] || a[1] - b[1]);
  let covered = 0;
  for (const [name, entry] of checked) {
    requirePlace(name, entry, covered, available);
    covered = entry.data_offsets[1];
  }
  if (covered !== available) throw new Error(`${available - covered} bytes belong to no tensor`);
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
    throw new Error(`${name} has no dtype, shape and data_offsets as the format has them`);
  }
  if (!Object.hasOwn(classOf, dtype)) throw new Error(`${name} has dtype ${dtype}, which is not known here`);
  return { dtype: dtype as Dtype, shape, data_offsets: [data_offsets[0], data_offsets[1]] };
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
      `${name}, ${dtype} [${shape.join(', ')}], is at ${begin} to ${end} of ${available} bytes, expected ${covered} to ${covered + bytes}`,
    );
  }
}

/** A tensor's elements among the bytes behind the header: a view where it is aligned, else a copy. */
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
