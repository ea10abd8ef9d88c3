import { TableDataset, TableShards, loadTableParts } from './column-datasets.ts';
import type { FormatKind, LoadTableOptions, TableParts, TableShardsOptions } from './column-datasets.ts';
import { ArrowFormat } from './arrow-format.ts';
import type { RecordBatch } from './arrow-format.ts';
import type { TablePaths } from './table-files.ts';
import type { AnyRow } from './table-row.ts';

const arrow: FormatKind<RecordBatch> = {
  extensions: ['.arrow', '.feather'],
  open: (columns) => new ArrowFormat(columns),
  module: import.meta.url,
};

/**
 * The rows of Arrow files, by their index (Hugging Face's `Dataset.from_file` and `load_from_disk`). Samples are those of
 * {@link ParquetDataset}. A row is read together with its record batch, which stays in memory while it is one of the last
 * used (`cacheBytes`).
 */
export class ArrowDataset<Row = AnyRow> extends TableDataset<Row> {
  /**
   * Use {@link loadArrow}, which finds the record batches.
   *
   * @internal
   */
  constructor(parts: TableParts<RecordBatch>) {
    super('ArrowDataset', arrow, parts);
  }
}

/**
 * The rows of Arrow files, read from start to end. Samples are those of {@link ParquetDataset}; record batches are divided
 * and shuffled as the row groups of {@link ParquetShards}.
 */
export class ArrowShards<Row = AnyRow> extends TableShards<Row> {
  /**
   * @param paths as for {@link loadArrow}; they are looked up by the first iteration
   * @throws InvalidArgumentError for options out of range
   */
  constructor(paths: TablePaths, options: TableShardsOptions = {}) {
    super('ArrowShards', arrow, paths, options);
  }
}

/**
 * Opens Arrow files as a dataset whose rows are accessed by index: streams, as Hugging Face's datasets saves them
 * (`.arrow`), and files (`.feather`). Needs the package `@uwdata/flechette`. Compression by LZ4 and zstd (before Node.js
 * 22.15 with the package `fzstd`).
 *
 * @param paths files, folders with `.arrow` and `.feather` files, such as one of `save_to_disk`, or patterns, local or
 * `s3://bucket/…`; see {@link loadParquet}
 * @throws InvalidDataError for a path without files, or files that are not Arrow or have different columns;
 * InvalidArgumentError for a column that the files do not have; StorageError for files that cannot be read; RingrunError
 * `ERR_PACKAGE_MISSING` without flechette
 */
export async function loadArrow<Row = AnyRow>(
  paths: TablePaths,
  options: LoadTableOptions = {},
): Promise<ArrowDataset<Row>> {
  return new ArrowDataset(await loadTableParts('loadArrow', arrow, paths, options));
}

/** Called by worker threads. */
export function createDataset(
  ...[form, ...args]:
    ['dataset', TableParts<RecordBatch>] | ['shards', ...ConstructorParameters<typeof ArrowShards>]
): ArrowDataset | ArrowShards {
  return form === 'dataset'
    ? new ArrowDataset(...(args as [TableParts<RecordBatch>]))
    : new ArrowShards(...(args as ConstructorParameters<typeof ArrowShards>));
}
