import { isMissingPackage, missingPackage } from '@ringrun/core';
import type { DataType, Table } from '@uwdata/flechette';
import { formatBytes, knownFormat } from '../../storage/known-formats.ts';
import { storedAt } from '../../storage/stored-at.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { arrowMessages } from './arrow-messages.ts';
import type { MessageRange } from './arrow-messages.ts';
import { asInvalid } from './as-invalid.ts';
import type { Columns } from './columns.ts';
import type { ColumnInfo } from './columns.ts';
import { lz4Frame, zstdDecompressor } from './decompressors.ts';
import { rowsIn } from './table-format.ts';
import type { CountedPart, IndexedFormat, PartRows } from './table-format.ts';
import { rowOfColumns } from './table-row.ts';
import type { TableRow } from './table-row.ts';

/** A record batch of an Arrow file. */
export interface RecordBatch extends CountedPart {
  /** Index of its first row in the file. */
  firstRow: number;
  /** The messages to decode: schema, dictionaries, and the batch itself. */
  messages: readonly MessageRange[];
  isZstd: boolean;
}

/** An optional package. */
const flechette = '@uwdata/flechette';

/** Reads record batches of Arrow's IPC formats: streams, and files (Feather). */
export class ArrowFormat implements IndexedFormat<RecordBatch> {
  readonly columns: Columns;
  /** Messages that several batches need, of the last batch, by file and place. */
  #shared = new Map<string, Promise<Uint8Array>>();

  constructor(columns: Columns) {
    this.columns = columns;
  }

  async parts(url: string): Promise<RecordBatch[]> {
    const { storage, name } = storedAt(url);
    const size = await storage.size(name);
    requireArrow(url, await storage.readRange(name, 0, Math.min(formatBytes, size)));
    const batches: RecordBatch[] = [];
    const dictionaries = new Map<number, MessageRange[]>();
    let schema: MessageRange | undefined;
    let firstRow = 0;
    let isZstdDictionary = false;
    await asInvalid(url, `record batch ${batches.length}`, async () => {
      for await (const { kind, rows, dictionary, isZstd, ...range } of arrowMessages(storage, name, size)) {
        if (kind === 'schema') schema ??= range;
        else if (kind === 'dictionary') {
          const before = dictionary.isDelta ? (dictionaries.get(dictionary.id) ?? []) : [];
          dictionaries.set(dictionary.id, [...before, range]);
          isZstdDictionary ||= isZstd;
        } else if (rows > 0) {
          const messages = [schema!, ...[...dictionaries.values()].flat(), range];
          const bytes = range.end - range.begin;
          batches.push({ url, firstRow, rows, bytes, messages, isZstd: isZstd || isZstdDictionary });
          firstRow += rows;
        }
      }
      if (schema === undefined) throw new Error('it has no schema');
    });
    await this.#columnsOf(url, await this.#bytesOf(url, [schema!]));
    return batches;
  }

  async rows(part: RecordBatch): Promise<Iterable<TableRow>> {
    return rowsIn(await this.read(part), part.rows);
  }

  async read({ url, firstRow, rows, messages, isZstd }: RecordBatch): Promise<PartRows> {
    const bytes = await this.#bytesOf(url, messages);
    const where = `the record batch of rows ${firstRow} to ${firstRow + rows - 1}`;
    const { table, names } = await asInvalid(url, where, async () => {
      if (isZstd) await useZstd(url);
      return await this.#columnsOf(url, bytes);
    });
    const { dtypes } = this.columns;
    const columns = names.map((name) => [name, table.getChild(name)] as const);
    const at = (row: number): TableRow =>
      rowOfColumns(
        { url, row: firstRow + row, dtypes },
        columns.map(([name, column]) => [name, column.at(row) as unknown]),
      );
    return { at };
  }

  async #columnsOf(url: string, bytes: Uint8Array[]): Promise<{ table: Table; names: readonly string[] }> {
    const { tableFromIPC } = await loadFlechette(url);
    const table = tableFromIPC(bytes, { useBigInt: true, useDate: true });
    const found = table.schema.fields.map(({ name, type }) => ({ name, dtype: dtypeOf(type) }));
    return { table, names: this.columns.of(url, found) };
  }

  async #bytesOf(url: string, messages: readonly MessageRange[]): Promise<Uint8Array[]> {
    const { storage, name } = storedAt(url);
    const known = this.#shared;
    const bytes = messages.map(
      ({ begin, end }) => known.get(`${url} ${begin}`) ?? storage.readRange(name, begin, end),
    );
    this.#shared = new Map(messages.slice(0, -1).map(({ begin }, i) => [`${url} ${begin}`, bytes[i]]));
    return await Promise.all(bytes);
  }
}

function requireArrow(url: string, start: Uint8Array): void {
  const { what, cure } = knownFormat(start) ?? {};
  const problem = start.length < 8 ? `it has ${start.length} bytes` : what && `it is ${what}`;
  if (problem === undefined) return;
  throw new InvalidDataError(url, `expected an Arrow file, but ${problem}`, cure ?? 'Write the file again.');
}

/** Arrow's numbers of types. */
const types = { dictionary: -1, int: 2, float: 3, bool: 6, decimal: 7 };
const listTypes = [12, 16, 21, 25, 26];

/** The type of a column's numbers, or of those in its lists. Structs and maps have none. */
function dtypeOf(type: DataType): ColumnInfo['dtype'] {
  const { typeId } = type;
  if (typeId === types.int || typeId === types.bool) return 'int64';
  if (typeId === types.float || typeId === types.decimal) return 'float32';
  if ('dictionary' in type) return dtypeOf(type.dictionary);
  return listTypes.includes(typeId) && 'children' in type ? dtypeOf(type.children[0].type) : undefined;
}

async function useZstd(url: string): Promise<void> {
  const { setCompressionCodec, CompressionType } = await loadFlechette(url);
  const decode = await zstdDecompressor(`reading ${url}, which zstd compresses`);
  setCompressionCodec(CompressionType.ZSTD, { decode, encode: (bytes) => bytes });
}

async function loadFlechette(url: string): Promise<typeof import('@uwdata/flechette')> {
  try {
    const loaded = await import('@uwdata/flechette');
    loaded.setCompressionCodec(loaded.CompressionType.LZ4_FRAME, {
      decode: lz4Frame,
      encode: (bytes) => bytes,
    });
    return loaded;
  } catch (error) {
    if (isMissingPackage(error, flechette)) throw missingPackage(`reading ${url}`, flechette, error);
    throw error;
  }
}
