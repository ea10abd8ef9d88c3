import { InvalidArgumentError, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import type { DataPass, DataShare, Dataset, IterableDataset, WorkerDataset } from '../dataset.ts';
import { requireDTypes } from '../number-dtype.ts';
import { Columns } from './columns.ts';
import { IndexedTable } from './indexed-table.ts';
import { partsOf } from './table-format.ts';
import type { CountedPart, DTypes, IndexedFormat } from './table-format.ts';
import { tableFiles, tablePatterns } from './table-files.ts';
import type { TablePaths } from './table-files.ts';
import type { AnyRow } from './table-row.ts';
import { TableStream, requireStreamOptions } from './table-stream.ts';
import type { TableStreamOptions } from './table-stream.ts';

/** Which columns of a table are read, and how. */
export interface ColumnOptions {
  /** Names of the columns to read; others are not read. Default: all. */
  columns?: readonly string[];
  /**
   * Element types of numbers by column, in batches and in lists. Default: int64 for integers and booleans, float32 for
   * other numbers, as Hugging Face's `with_format('torch')`.
   */
  dtypes?: DTypes;
}

/** Options of `loadParquet` and `loadArrow`. */
export interface LoadTableOptions extends ColumnOptions {
  /**
   * Size of the parts that stay in memory after their use, as the file describes it, at least 0. Each process and worker
   * thread has its own. Default: 256 MiB.
   */
  cacheBytes?: number;
}

/** Options of {@link ParquetShards} and {@link ArrowShards}. */
export interface TableShardsOptions extends ColumnOptions, TableStreamOptions {}

const columnOptionNames: OptionNames<ColumnOptions> = { columns: true, dtypes: true };
const loadOptionNames: OptionNames<LoadTableOptions> = { ...columnOptionNames, cacheBytes: true };
const shardsOptionNames: OptionNames<TableShardsOptions> = {
  ...columnOptionNames,
  shuffle: true,
  bufferSize: true,
};

/** A format whose files have a schema. */
export interface ColumnFormat<Part extends CountedPart> extends IndexedFormat<Part> {
  readonly columns: Columns;
}

/** What tells formats apart. */
export interface FormatKind<Part extends CountedPart> {
  /** Of files in a folder. */
  extensions: readonly string[];
  open: (columns: Columns) => ColumnFormat<Part>;
  /** The module with `createDataset`. */
  module: string;
}

/** The parts of a table: plain data that worker threads receive. */
export interface TableParts<Part extends CountedPart> {
  parts: readonly Part[];
  dtypes: DTypes;
  options: LoadTableOptions;
}

/** Finds and opens the files of a table. */
export async function loadTableParts<Part extends CountedPart>(
  who: string,
  kind: FormatKind<Part>,
  paths: TablePaths,
  options: LoadTableOptions,
): Promise<TableParts<Part>> {
  requireOptions(who, options, loadOptionNames);
  requireColumns(who, options);
  requireInteger(options.cacheBytes ?? 0, { who, what: 'cacheBytes', min: 0 });
  const files = await tableFiles(who, tablePatterns(who, paths), kind.extensions);
  const format = kind.open(new Columns(who, options.columns, options.dtypes));
  const parts = await partsOf(format, files);
  return { parts, dtypes: format.columns.dtypes, options };
}

/** Checks the options that name columns. */
export function requireColumns(who: string, { columns, dtypes = {} }: ColumnOptions): void {
  requireDTypes(who, dtypes);
  if (columns === undefined) return;
  if (columns.length > 0 && new Set(columns).size === columns.length) return;
  throw new InvalidArgumentError(
    `${who}: columns: expected names, each once, got [${columns.join(', ')}]. Leave the option out to read all columns.`,
  );
}

/** The rows of a table by their index. */
export abstract class TableDataset<Row = AnyRow> implements Dataset<Row> {
  /** Element types of the numbers by column. */
  readonly dtypes: DTypes;
  /** Number of rows. */
  readonly length: number;
  readonly #table: IndexedTable<CountedPart>;
  readonly #worker: WorkerDataset;

  /**
   * @param parts of `loadParquet` or `loadArrow`, which find them
   * @internal
   */
  protected constructor(
    who: string,
    { open, module }: FormatKind<CountedPart>,
    parts: TableParts<CountedPart>,
  ) {
    const { columns, dtypes, cacheBytes = 2 ** 28 } = parts.options;
    this.dtypes = parts.dtypes;
    this.#table = new IndexedTable(who, open(new Columns(who, columns, dtypes)), parts.parts, { cacheBytes });
    this.length = this.#table.length;
    this.#worker = { module, args: ['dataset', parts] };
  }

  /** Reads the row at `index`. Rejects with `RangeError` if it is out of range, and as `batch` does. */
  async at(index: number, _pass?: DataPass): Promise<Row> {
    return (await this.#table.at(index)) as Row;
  }

  /**
   * Reads the rows at several indices, and the parts with them at the same time. Rejects with `InvalidDataError` for a
   * damaged file or a value that cannot be converted, and with `StorageError` for a file that cannot be read.
   */
  async batch(indices: readonly number[], _pass?: DataPass): Promise<Row[]> {
    return (await this.#table.batch(indices)) as Row[];
  }

  /** Worker threads receive the parts, and do not look for them again. */
  forWorkers(): WorkerDataset {
    return this.#worker;
  }
}

/** The rows of a table, read from start to end. */
export abstract class TableShards<Row = AnyRow> implements IterableDataset<Row> {
  readonly #columns: Columns;
  readonly #stream: TableStream<CountedPart>;
  readonly #worker: WorkerDataset;

  /** @internal */
  protected constructor(
    who: string,
    { open, module, extensions }: FormatKind<CountedPart>,
    paths: TablePaths,
    options: TableShardsOptions,
  ) {
    requireOptions(who, options, shardsOptionNames);
    requireColumns(who, options);
    requireStreamOptions(who, options);
    const patterns = tablePatterns(who, paths);
    this.#columns = new Columns(who, options.columns, options.dtypes);
    this.#stream = new TableStream(open(this.#columns), { who, patterns, extensions }, options);
    this.#worker = { module, args: ['shards', patterns, options] };
  }

  /** Element types of the numbers by column. Empty before the first row has been read. */
  get dtypes(): DTypes {
    return this.#columns.dtypes;
  }

  /** Yields the rows of one share. */
  iterate(share: DataShare): AsyncGenerator<Row, void> {
    return this.#stream.iterate(share) as AsyncGenerator<Row, void>;
  }

  /** How worker threads create this dataset. */
  forWorkers(): WorkerDataset {
    return this.#worker;
  }
}
