import type { Storage } from '../../storage/storage.ts';

/** The bytes of a message in its file. */
export interface MessageRange {
  begin: number;
  end: number;
}

/** A message of Arrow's IPC format: a schema, a dictionary or a record batch. */
export interface ArrowMessage extends MessageRange {
  kind: 'schema' | 'dictionary' | 'batch';
  /** Rows of a record batch, otherwise 0. */
  rows: number;
  /** Of a dictionary: its number, and whether it extends an earlier one instead of replacing it. */
  dictionary: { id: number; isDelta: boolean };
  isZstd: boolean;
}

/** Arrow's numbers of message kinds. */
const kinds = { 1: 'schema', 2: 'dictionary', 3: 'batch' } as const;

/** Bytes that are read for the header of a message, and for those of the next ones if they are in them. */
const windowBytes = 2 ** 16;

/** The file format begins with it, and with two bytes of padding. */
const magic = 'ARROW1';

/** Whether a file is in Arrow's file format (Feather), which has the messages of the stream format after 8 bytes. */
export function isArrowFile(start: Uint8Array): boolean {
  return Buffer.from(start.subarray(0, magic.length)).toString('latin1') === magic;
}

/**
 * The messages of a file, of which only the headers are read.
 *
 * @throws Error for bytes that are not a message
 */
export async function* arrowMessages(
  storage: Storage,
  name: string,
  size: number,
): AsyncGenerator<ArrowMessage, void> {
  let window = { begin: 0, bytes: new Uint8Array(0) };
  const bytesAt = async (begin: number, length: number): Promise<Uint8Array> => {
    if (begin + length > size) throw new Error(`expected ${begin + length} bytes, got ${size}`);
    if (begin < window.begin || begin + length > window.begin + window.bytes.length) {
      const end = Math.min(size, begin + Math.max(length, windowBytes));
      window = { begin, bytes: await storage.readRange(name, begin, end) };
    }
    return window.bytes.subarray(begin - window.begin, begin - window.begin + length);
  };
  const isFile = size >= 8 && isArrowFile(await bytesAt(0, 8));
  for (let begin = isFile ? 8 : 0; begin + 4 <= size;) {
    const prefix = await bytesAt(begin, Math.min(8, size - begin));
    // Before version 0.15, the length was the first word.
    const isContinued = word(prefix, 0) === -1;
    const length = isContinued ? (prefix.length === 8 ? word(prefix, 4) : 0) : word(prefix, 0);
    // The end of the stream.
    if (length === 0) return;
    if (length < 0) throw new Error(`expected a message at byte ${begin}, got other bytes`);
    const header = begin + (isContinued ? 8 : 4);
    const { bodyBytes, ...message } = parsed(await bytesAt(header, length));
    const end = header + length + bodyBytes;
    if (end > size) throw new Error(`expected ${end} bytes, got ${size}`);
    yield { ...message, begin, end };
    begin = end;
  }
}

function word(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getInt32(at, true);
}

/** Reads the few fields that tell messages apart. Their numbers are those of Arrow's Message.fbs. */
function parsed(bytes: Uint8Array): Omit<ArrowMessage, keyof MessageRange> & { bodyBytes: number } {
  const message = new FlatTable(bytes, word(bytes, 0));
  const kind = kinds[message.byte(1) as keyof typeof kinds] as ArrowMessage['kind'] | undefined;
  const header = message.table(2);
  if (kind === undefined || header === undefined)
    throw new Error(
      `expected a schema, a dictionary or a record batch, got a message of kind ${message.byte(1)}`,
    );
  const batch = kind === 'dictionary' ? header.table(1) : header;
  const compression = kind === 'schema' ? undefined : batch?.table(3);
  return {
    kind,
    rows: kind === 'batch' ? header.long(0) : 0,
    dictionary: { id: header.long(0), isDelta: kind === 'dictionary' && header.byte(2) !== 0 },
    isZstd: compression?.byte(0) === 1,
    bodyBytes: message.long(3),
  };
}

/** A table of FlatBuffers. Fields that are not in the table are 0. */
class FlatTable {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = at;
  }

  byte(field: number): number {
    const at = this.#find(field);
    return at === undefined ? 0 : this.#view.getInt8(at);
  }

  long(field: number): number {
    const at = this.#find(field);
    return at === undefined ? 0 : Number(this.#view.getBigInt64(at, true));
  }

  table(field: number): FlatTable | undefined {
    const at = this.#find(field);
    return at === undefined ? undefined : new FlatTable(this.#bytes, at + this.#view.getInt32(at, true));
  }

  #find(field: number): number | undefined {
    const offsets = this.#at - this.#view.getInt32(this.#at, true);
    const place = 4 + 2 * field;
    if (place >= this.#view.getUint16(offsets, true)) return undefined;
    const offset = this.#view.getUint16(offsets + place, true);
    return offset === 0 ? undefined : this.#at + offset;
  }
}
