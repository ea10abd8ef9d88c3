import { storedAt } from '../../storage/stored-at.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { countNewlines, isBlank, newline } from '../datasets/text/lines.ts';
import { decompressed } from '../shards/decompressed.ts';
import { jsonRow } from './json-rows.ts';
import type { JsonFields } from './json-rows.ts';
import type { TableFormat, TablePart } from './table-format.ts';
import { BadValue } from './table-row.ts';
import type { TableRow } from './table-row.ts';

/** The lines that begin from `begin` to before `end`. */
export interface LineBlock extends TablePart {
  begin: number;
  /** Undefined for a compressed file, which is one block. */
  end: number | undefined;
}

/** First bytes that are read after the end of a block, to complete its last line. */
const firstExtension = 2 ** 16;

/** Reads blocks of files of JSON lines. */
export class JsonLinesFormat implements TableFormat<LineBlock> {
  readonly #fields: JsonFields;
  readonly #blockBytes: number;

  constructor(fields: JsonFields, blockBytes: number) {
    this.#fields = fields;
    this.#blockBytes = blockBytes;
  }

  async parts(url: string): Promise<LineBlock[]> {
    if (isCompressed(url)) return [{ url, begin: 0, end: undefined }];
    const { storage, name } = storedAt(url);
    const size = await storage.size(name);
    const blocks: LineBlock[] = [];
    for (let begin = 0; begin < size; begin += this.#blockBytes)
      blocks.push({ url, begin, end: Math.min(size, begin + this.#blockBytes) });
    return blocks;
  }

  async rows({ url, begin, end }: LineBlock): Promise<AsyncIterable<TableRow>> {
    if (end === undefined) return this.#rowsOfChunks(url);
    const bytes = await linesOf(url, begin, end);
    return this.#rowsIn(url, bytes);
  }

  async *#rowsIn(url: string, { bytes, begin }: LinesOfBlock): AsyncGenerator<TableRow, void> {
    for (const [from, to] of linesIn(bytes)) {
      try {
        yield jsonRow(bytes.subarray(from, to), this.#fields);
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        throw badLine(url, 1 + (await newlinesBefore(url, begin + from)), error);
      }
    }
  }

  async *#rowsOfChunks(url: string): AsyncGenerator<TableRow, void> {
    const { storage, name } = storedAt(url);
    let line = 1;
    let rest = Buffer.alloc(0);
    const rowsOf = function* (bytes: Buffer, fields: JsonFields) {
      for (const [from, to] of linesIn(bytes)) {
        try {
          yield jsonRow(bytes.subarray(from, to), fields);
        } catch (error) {
          if (!(error instanceof BadValue)) throw error;
          throw badLine(url, line + countNewlines(bytes.subarray(0, from)), error);
        }
      }
    };
    for await (const chunk of decompressed(url, storage.chunks(name), 'JSON lines')) {
      const bytes = Buffer.concat([rest, chunk]);
      const end = bytes.lastIndexOf(newline) + 1;
      const whole = bytes.subarray(0, end);
      yield* rowsOf(whole, this.#fields);
      line += countNewlines(whole);
      rest = bytes.subarray(end);
    }
    yield* rowsOf(rest, this.#fields);
  }
}

/** Whether the name of a file is that of a compressed one. */
export function isCompressed(url: string): boolean {
  return /\.(gz|zst)$/.test(url);
}

/** @throws InvalidDataError that names file and line */
export function badLine(url: string, line: number, { problem, cure }: BadValue): InvalidDataError {
  return new InvalidDataError(url, `line ${line}: ${problem}`, cure);
}

interface LinesOfBlock {
  bytes: Buffer;
  /** Offset of the bytes in the file. */
  begin: number;
}

/** The whole lines that begin in a block. */
async function linesOf(url: string, begin: number, end: number): Promise<LinesOfBlock> {
  const { storage, name } = storedAt(url);
  // With the byte before the block: a line begins after its line end.
  const from = Math.max(0, begin - 1);
  const bytes = Buffer.from((await storage.readRange(name, from, end)).buffer);
  const first = begin === 0 ? 0 : bytes.indexOf(newline) + 1;
  const isEmpty = first >= bytes.length || (begin > 0 && first === 0);
  if (isEmpty) return { bytes: bytes.subarray(0, 0), begin };
  const last = bytes.at(-1) === newline ? Buffer.alloc(0) : await restOfLine(url, end);
  return { bytes: Buffer.concat([bytes.subarray(first), last]), begin: from + first };
}

/** The bytes from an offset up to the next line end. */
async function restOfLine(url: string, begin: number): Promise<Buffer> {
  const { storage, name } = storedAt(url);
  const size = await storage.size(name);
  const parts: Buffer[] = [];
  for (let length = firstExtension; begin < size; length *= 2) {
    const end = Math.min(size, begin + length);
    const bytes = Buffer.from((await storage.readRange(name, begin, end)).buffer);
    const found = bytes.indexOf(newline);
    parts.push(found < 0 ? bytes : bytes.subarray(0, found + 1));
    if (found >= 0) break;
    begin = end;
  }
  return Buffer.concat(parts);
}

/** Begin and end of each line that is not blank. */
function* linesIn(bytes: Buffer): Generator<readonly [from: number, to: number], void> {
  for (let from = 0; from < bytes.length;) {
    const found = bytes.indexOf(newline, from);
    const to = found < 0 ? bytes.length : found;
    if (!isBlank(bytes, from, to)) yield [from, to];
    from = to + 1;
  }
}

/** Number of lines before an offset of a file, which is read again: only for errors. */
async function newlinesBefore(url: string, offset: number): Promise<number> {
  const { storage, name } = storedAt(url);
  let [lines, left] = [0, offset];
  for await (const chunk of storage.chunks(name)) {
    lines += countNewlines(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) break;
  }
  return lines;
}
