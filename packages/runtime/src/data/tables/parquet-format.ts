import { isMissingPackage, missingPackage } from '@ringrun/core';
import type { AsyncBuffer, ColumnData, Compressors, FileMetaData, SchemaTree } from 'hyparquet';
import { formatBytes, knownFormat } from '../../storage/known-formats.ts';
import { storedAt } from '../../storage/stored-at.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { asInvalid } from './as-invalid.ts';
import type { Columns } from './columns.ts';
import type { ColumnInfo } from './columns.ts';
import { brotli, gunzip, lz4Block, zstdDecompressor } from './decompressors.ts';
import { rowsIn } from './table-format.ts';
import type { CountedPart, IndexedFormat, PartRows } from './table-format.ts';
import { rowOfColumns } from './table-row.ts';
import type { TableRow } from './table-row.ts';

/** A row group of a Parquet file. */
export interface RowGroup extends CountedPart {
  /** Index of the row group in its file, from 0. */
  group: number;
  /** Index of its first row in the file. */
  firstRow: number;
}

/** An optional package. */
const hyparquet = 'hyparquet';

type Hyparquet = typeof import('hyparquet');

/** An opened file. */
interface ParquetFile {
  file: AsyncBuffer;
  metadata: FileMetaData;
  compressors: Compressors;
  columns: readonly string[];
}

/** Reads row groups of Parquet files. */
export class ParquetFormat implements IndexedFormat<RowGroup> {
  readonly columns: Columns;
  readonly #files = new Map<string, Promise<ParquetFile>>();

  constructor(columns: Columns) {
    this.columns = columns;
  }

  async parts(url: string): Promise<RowGroup[]> {
    const { metadata, columns } = await this.#open(url);
    let firstRow = 0;
    const groups = metadata.row_groups.map((row, group) => {
      const [rows, bytes] = [Number(row.num_rows), bytesOf(row, columns)];
      firstRow += rows;
      return { url, group, firstRow: firstRow - rows, rows, bytes };
    });
    return groups.filter(({ rows }) => rows > 0);
  }

  async rows(part: RowGroup): Promise<Iterable<TableRow>> {
    return rowsIn(await this.read(part), part.rows);
  }

  async read({ url, group, firstRow, rows }: RowGroup): Promise<PartRows> {
    const { file, metadata, compressors, columns } = await this.#open(url);
    const { parquetRead } = await loadHyparquet(url);
    const chunks = new Map<string, ColumnData['columnData'][]>(columns.map((name) => [name, []]));
    await asInvalid(url, `row group ${group}`, () =>
      parquetRead({
        ...{ file, metadata, compressors, columns: [...columns] },
        ...{ rowStart: firstRow, rowEnd: firstRow + rows, utf8: false, geoparquet: false },
        onChunk: ({ columnName, columnData }) => chunks.get(columnName)!.push(columnData),
      }),
    );
    const { dtypes } = this.columns;
    const values = columns.map((name) => {
      const column = joined(chunks.get(name)!);
      if (column.length === rows) return [name, column] as const;
      throw new InvalidDataError(
        url,
        `row group ${group}: expected ${rows} values of column ${name}, got ${column.length}`,
        'Write the file again.',
      );
    });
    const at = (row: number): TableRow =>
      rowOfColumns(
        { url, row: firstRow + row, dtypes },
        values.map(([name, column]) => [name, column[row]]),
      );
    return { at };
  }

  async #open(url: string): Promise<ParquetFile> {
    const opening = this.#files.get(url) ?? openParquet(url, this.columns);
    this.#files.set(url, opening);
    try {
      return await opening;
    } catch (error) {
      this.#files.delete(url);
      throw error;
    }
  }
}

async function openParquet(url: string, wanted: Columns): Promise<ParquetFile> {
  const { parquetMetadataAsync, parquetSchema } = await loadHyparquet(url);
  const { storage, name } = storedAt(url);
  const byteLength = await storage.size(name);
  requireParquet(url, await storage.readRange(name, 0, Math.min(formatBytes, byteLength)));
  const slice = async (begin: number, end = byteLength) =>
    (await storage.readRange(name, begin, Math.min(end, byteLength))).buffer;
  const file = { byteLength, slice };
  const { metadata, found } = await asInvalid(url, 'its footer', async () => {
    const metadata = await parquetMetadataAsync(file, { geoparquet: false });
    return { metadata, found: parquetSchema(metadata).children.map(columnInfo) };
  });
  return { file, metadata, compressors: await compressorsOf(url, metadata), columns: wanted.of(url, found) };
}

function requireParquet(url: string, start: Uint8Array): void {
  if (Buffer.from(start.subarray(0, 4)).toString('latin1') === 'PAR1') return;
  const { what, cure } = knownFormat(start) ?? {};
  throw new InvalidDataError(
    url,
    `expected a Parquet file, but ${what === undefined ? 'it does not begin with PAR1' : `it is ${what}`}`,
    cure ?? 'Check the path.',
  );
}

async function compressorsOf(url: string, { row_groups }: FileMetaData): Promise<Compressors> {
  const isZstd = row_groups.some(({ columns }) =>
    columns.some(({ meta_data }) => meta_data?.codec === 'ZSTD'),
  );
  const others = { GZIP: gunzip, BROTLI: brotli, LZ4_RAW: lz4Block };
  return isZstd
    ? { ...others, ZSTD: await zstdDecompressor(`reading ${url}, which zstd compresses`) }
    : others;
}

/** Uncompressed size of the columns that are read. */
function bytesOf({ columns }: FileMetaData['row_groups'][number], names: readonly string[]): number {
  const own = columns.filter(({ meta_data }) => names.includes(meta_data?.path_in_schema[0] ?? ''));
  return own.reduce((sum, { meta_data }) => sum + Number(meta_data?.total_uncompressed_size ?? 0), 0);
}

function columnInfo({ element, ...tree }: SchemaTree): ColumnInfo {
  return { name: element.name, dtype: dtypeOfLeaf({ element, ...tree }) };
}

/** The type of a column's numbers, or of those in its lists. Structs and maps have none. */
function dtypeOfLeaf({ element, children }: SchemaTree): ColumnInfo['dtype'] {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (children.length > 0)
    return children.length === 1 && converted !== 'MAP' ? dtypeOfLeaf(children[0]) : undefined;
  if (converted === 'DECIMAL' || logical?.type === 'FLOAT16') return 'float32';
  const isTime = /^(DATE|TIME|INTERVAL)/.test(converted ?? '') || /^(DATE|TIME)/.test(logical?.type ?? '');
  if (isTime) return undefined;
  if (type === 'FLOAT' || type === 'DOUBLE') return 'float32';
  return type === 'INT32' || type === 'INT64' || type === 'BOOLEAN' ? 'int64' : undefined;
}

function joined(chunks: readonly ColumnData['columnData'][]): ArrayLike<unknown> {
  return chunks.length === 1 ? chunks[0] : chunks.flatMap((chunk) => Array.from<unknown>(chunk));
}

async function loadHyparquet(url: string): Promise<Hyparquet> {
  try {
    return await import('hyparquet');
  } catch (error) {
    if (isMissingPackage(error, hyparquet)) throw missingPackage(`reading ${url}`, hyparquet, error);
    throw error;
  }
}
