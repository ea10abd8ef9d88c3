import { TableDataset, TableShards, loadTableParts } from './column-datasets.ts';
import type { FormatKind, LoadTableOptions, TableParts, TableShardsOptions } from './column-datasets.ts';
import { ParquetFormat } from './parquet-format.ts';
import type { RowGroup } from './parquet-format.ts';
import type { TablePaths } from './table-files.ts';
import type { AnyRow } from './table-row.ts';

const parquet: FormatKind<RowGroup> = {
  extensions: ['.parquet'],
  open: (columns) => new ParquetFormat(columns),
  module: import.meta.url,
};

/**
 * The rows of Parquet files (Hugging Face's `load_dataset('parquet')`), by their index. A sample is an object with the
 * values of the columns:
 *
 * - integers, floats and decimals: numbers. An integer beyond 2^53 - 1 is an `InvalidDataError` that names file, column and
 *   row.
 * - lists of numbers: typed arrays of the column's dtype; lists of lists: lists of them
 * - strings, booleans, dates (`Date`), binary data (`Uint8Array`), structs (objects), and null for missing values
 *
 * A row is read together with its row group, which stays in memory while it is one of the last used (`cacheBytes`). If row
 * groups are larger than that, use {@link ParquetShards} to shuffle.
 */
export class ParquetDataset<Row = AnyRow> extends TableDataset<Row> {
  /**
   * Use {@link loadParquet}, which finds the row groups.
   *
   * @internal
   */
  constructor(parts: TableParts<RowGroup>) {
    super('ParquetDataset', parquet, parts);
  }
}

/**
 * The rows of Parquet files, read from start to end (Hugging Face's `load_dataset('parquet', streaming=True)`), for tables
 * larger than the memory. Samples are those of {@link ParquetDataset}.
 *
 *     const train = new ParquetShards('s3://texts/train/*.parquet', { columns: ['text', 'label'], shuffle: true });
 *
 * In an epoch each row group belongs to one worker of one rank, so each row is visited once, and a reader requests only the
 * bytes of its row groups and columns. With fewer row groups than readers, each reader reads all row groups and keeps every
 * n-th row. `shuffle` permutes the row groups for `seed` + `epoch` of the loader, and each worker chooses its next row at
 * random from a buffer.
 */
export class ParquetShards<Row = AnyRow> extends TableShards<Row> {
  /**
   * @param paths as for {@link loadParquet}; they are looked up by the first iteration
   * @throws InvalidArgumentError for options out of range
   */
  constructor(paths: TablePaths, options: TableShardsOptions = {}) {
    super('ParquetShards', parquet, paths, options);
  }
}

/**
 * Opens Parquet files as a dataset whose rows are accessed by index. Needs the package `hyparquet`. Compression by snappy,
 * gzip, brotli, LZ4 and zstd (before Node.js 22.15 with the package `fzstd`).
 *
 * @param paths files, folders with `.parquet` files, or patterns such as `data/**\/train-*.parquet` and
 * `part-{000..019}.parquet`, local or `s3://bucket/…`. Braces are expanded. Of a folder, only the files directly in it are
 * read.
 * @throws InvalidDataError for a path without files, or files that are not Parquet or have different columns;
 * InvalidArgumentError for a column that the files do not have; StorageError for files that cannot be read; RingrunError
 * `ERR_PACKAGE_MISSING` without hyparquet
 */
export async function loadParquet<Row = AnyRow>(
  paths: TablePaths,
  options: LoadTableOptions = {},
): Promise<ParquetDataset<Row>> {
  return new ParquetDataset(await loadTableParts('loadParquet', parquet, paths, options));
}

/** Called by worker threads. */
export function createDataset(
  ...[form, ...args]:
    ['dataset', TableParts<RowGroup>] | ['shards', ...ConstructorParameters<typeof ParquetShards>]
): ParquetDataset | ParquetShards {
  return form === 'dataset'
    ? new ParquetDataset(...(args as [TableParts<RowGroup>]))
    : new ParquetShards(...(args as ConstructorParameters<typeof ParquetShards>));
}
