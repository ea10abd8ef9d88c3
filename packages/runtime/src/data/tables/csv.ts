import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import type { DataShare, Dataset, IterableDataset, WorkerDataset } from '../dataset.ts';
import { numberDTypes, requireDTypes } from '../number-dtype.ts';
import type { NumberDType } from '../number-dtype.ts';
import { requireColumns } from './column-datasets.ts';
import { CsvFormat } from './csv-format.ts';
import type { CsvDialect, CsvDType } from './csv-format.ts';
import type { DTypes, TablePart } from './table-format.ts';
import { tableFiles, tablePatterns } from './table-files.ts';
import type { TablePaths } from './table-files.ts';
import type { AnyRow, TableRow } from './table-row.ts';
import { TableStream, requireStreamOptions } from './table-stream.ts';
import type { TableStreamOptions } from './table-stream.ts';

/** Options of {@link loadCsv}. */
export interface CsvOptions {
  /** Names of the columns to use. Default: all. */
  columns?: readonly string[];
  /**
   * Type by column (pandas' `dtype`): `'float32'`, `'float64'`, `'int32'` or `'int64'` for numbers, which is also their type
   * in batches, or `'string'`. Default: `'string'`.
   */
  dtypes?: Readonly<Record<string, CsvDType>>;
  /** Names of the columns of files without them. Default: the first record has the names. */
  header?: readonly string[];
  /** Character between fields, such as `'\t'`. Default: `','`. */
  delimiter?: string;
}

/** Options of {@link CsvShards}. */
export interface CsvShardsOptions extends CsvOptions, TableStreamOptions {}

const optionNames: OptionNames<CsvOptions> = { columns: true, dtypes: true, header: true, delimiter: true };
const shardsOptionNames: OptionNames<CsvShardsOptions> = { ...optionNames, shuffle: true, bufferSize: true };

const extensions = ['.csv', '.tsv'].flatMap((extension) => ['', '.gz', '.zst'].map((end) => extension + end));

/** The columns of a table in memory: numbers in shared memory, and strings. */
type CsvColumns = Readonly<Record<string, Float64Array<SharedArrayBuffer> | readonly string[]>>;

/** The records of CSV files, in memory (Hugging Face's `load_dataset('csv')`). A sample is an object of the columns. */
export class CsvDataset<Row = AnyRow> implements Dataset<Row> {
  /** Number of records. */
  readonly length: number;
  /** Element types of the columns that are numbers. */
  readonly dtypes: DTypes;
  readonly #columns: [name: string, values: Float64Array | readonly string[]][];
  readonly #worker: WorkerDataset;

  /**
   * Use {@link loadCsv}, which reads the files.
   *
   * @internal
   */
  constructor(columns: CsvColumns, dtypes: DTypes) {
    this.#columns = Object.entries(columns);
    this.dtypes = dtypes;
    this.length = this.#columns[0]?.[1].length ?? 0;
    this.#worker = { module: import.meta.url, args: ['dataset', columns, dtypes] };
  }

  /** Returns the record at `index`. Throws `RangeError` if `index` is out of range. */
  at(index: number): Row {
    if (!Number.isInteger(index) || index < 0 || index >= this.length)
      throw new RangeError(`CsvDataset: expected an index from 0 to ${this.length - 1}, got ${index}.`);
    return Object.fromEntries(this.#columns.map(([name, values]) => [name, values[index]])) as Row;
  }

  /** A thread receives a copy of the strings, and shares the numbers. */
  forWorkers(): WorkerDataset {
    return this.#worker;
  }
}

/**
 * The records of CSV files, read from start to end (Hugging Face's `load_dataset('csv', streaming=True)`), for tables larger
 * than the memory. Needs the package `csv-parse`.
 *
 *     const train = new CsvShards('prices-*.csv', { dtypes: { price: 'float32', label: 'int64' }, shuffle: true });
 *
 * In an epoch each file belongs to one worker of one rank, so each record is visited once; with fewer files than readers,
 * each reader parses all files and keeps every n-th record. `shuffle` permutes the files for `seed` + `epoch` of the loader,
 * and each worker chooses its next record at random from a buffer. Files may be compressed by gzip (`.gz`) or, from Node.js
 * 22.15 on, by zstd (`.zst`).
 */
export class CsvShards<Row = AnyRow> implements IterableDataset<Row> {
  /** Element types of the columns that are numbers. */
  readonly dtypes: DTypes;
  readonly #stream: TableStream<TablePart>;
  readonly #worker: WorkerDataset;

  /**
   * @param paths as for {@link loadCsv}; they are looked up by the first iteration
   * @throws InvalidArgumentError for options out of range
   */
  constructor(paths: TablePaths, options: CsvShardsOptions = {}) {
    const who = 'CsvShards';
    requireOptions(who, options, shardsOptionNames);
    requireStreamOptions(who, options);
    const dialect = dialectOf(who, options);
    const patterns = tablePatterns(who, paths);
    this.dtypes = numbersOf(dialect);
    this.#stream = new TableStream(new CsvFormat(dialect), { who, patterns, extensions }, options);
    this.#worker = { module: import.meta.url, args: ['shards', patterns, options] };
  }

  /**
   * Yields the records of one share. The loop throws an `InvalidDataError` that names file, line and column for an invalid
   * record.
   */
  iterate(share: DataShare): AsyncGenerator<Row, void> {
    return this.#stream.iterate(share) as AsyncGenerator<Row, void>;
  }

  /** How worker threads create this dataset. */
  forWorkers(): WorkerDataset {
    return this.#worker;
  }
}

/**
 * Reads CSV files into memory. Fields may be in double quotes, with line ends and doubled quotes in them. Needs the package
 * `csv-parse`.
 *
 * @param paths files, folders with `.csv` and `.tsv` files, or patterns, local or `s3://bucket/…`; see {@link loadParquet}
 * @throws InvalidArgumentError for options out of range; InvalidDataError that names file, line and column for an invalid
 * record, or a path without files; StorageError for files that cannot be read; RingrunError `ERR_PACKAGE_MISSING` without
 * csv-parse
 */
export async function loadCsv<Row = AnyRow>(
  paths: TablePaths,
  options: CsvOptions = {},
): Promise<CsvDataset<Row>> {
  const who = 'loadCsv';
  requireOptions(who, options, optionNames);
  const dialect = dialectOf(who, options);
  const files = await tableFiles(who, tablePatterns(who, paths), extensions);
  const format = new CsvFormat(dialect);
  const dtypes = numbersOf(dialect);
  const lists = new Map<string, (string | number)[]>();
  for (const url of files)
    for await (const row of await format.rows({ url }))
      append(row, lists, { url, isFirst: url === files[0] });
  const columns = Object.fromEntries(
    Array.from(lists, ([name, values]) => [
      name,
      Object.hasOwn(dtypes, name) ? sharedNumbers(values as number[]) : (values as string[]),
    ]),
  );
  return new CsvDataset(columns, dtypes);
}

function append(
  row: TableRow,
  lists: Map<string, (string | number)[]>,
  { url, isFirst }: { url: string; isFirst: boolean },
): void {
  const names = Object.keys(row);
  if (lists.size === 0 && isFirst) for (const name of names) lists.set(name, []);
  if (names.length !== lists.size || !names.every((name) => lists.has(name)))
    throw new InvalidArgumentError(
      `loadCsv: expected files with the columns ${[...lists.keys()].join(', ')}, got ${names.join(', ')} in ${url}. Name common ones in columns.`,
    );
  for (const [name, list] of lists) list.push(row[name] as string | number);
}

function sharedNumbers(values: readonly number[]): Float64Array<SharedArrayBuffer> {
  const shared = new Float64Array(new SharedArrayBuffer(8 * values.length));
  shared.set(values);
  return shared;
}

function dialectOf(who: string, { columns, dtypes = {}, header, delimiter = ',' }: CsvOptions): CsvDialect {
  requireDTypes(who, dtypes, [...numberDTypes, 'string']);
  requireColumns(who, { ...(columns && { columns }) });
  if (delimiter.length !== 1)
    throw new InvalidArgumentError(
      `${who}: delimiter: expected one character, got ${JSON.stringify(delimiter)}. Use ',' or '\\t'.`,
    );
  return { columns, dtypes, names: header, delimiter };
}

function numbersOf({ dtypes }: CsvDialect): DTypes {
  const numbers = Object.entries(dtypes).filter(([, dtype]) => dtype !== 'string');
  return Object.fromEntries(numbers) as Record<string, NumberDType>;
}

/** Called by worker threads. */
export function createDataset(
  ...[form, ...args]:
    | ['dataset', ...ConstructorParameters<typeof CsvDataset>]
    | ['shards', ...ConstructorParameters<typeof CsvShards>]
): CsvDataset | CsvShards {
  return form === 'dataset'
    ? new CsvDataset(...(args as ConstructorParameters<typeof CsvDataset>))
    : new CsvShards(...(args as ConstructorParameters<typeof CsvShards>));
}
