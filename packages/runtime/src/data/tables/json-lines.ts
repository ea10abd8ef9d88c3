import { InvalidArgumentError, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { formatBytes, knownFormat } from '../../storage/known-formats.ts';
import { isBucket } from '../../storage/open-storage.ts';
import type { DataShare, Dataset, IterableDataset, WorkerDataset } from '../dataset.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { countNewlines, startsOfLines } from '../datasets/text/lines.ts';
import { mappedFile } from '../datasets/text/mapped-file.ts';
import { requireColumns } from './column-datasets.ts';
import type { ColumnOptions } from './column-datasets.ts';
import { JsonLinesFormat, badLine } from './json-lines-format.ts';
import type { LineBlock } from './json-lines-format.ts';
import { jsonRow } from './json-rows.ts';
import type { JsonFields } from './json-rows.ts';
import type { DTypes } from './table-format.ts';
import { tableFiles, tablePatterns } from './table-files.ts';
import type { TablePaths } from './table-files.ts';
import { BadValue } from './table-row.ts';
import type { AnyRow } from './table-row.ts';
import { TableStream, requireStreamOptions } from './table-stream.ts';
import type { TableStreamOptions } from './table-stream.ts';

/** Options of {@link loadJsonLines}. */
export interface JsonLinesOptions extends ColumnOptions {
  /** Names of the fields to use, which each line must have. Default: all that a line has. */
  columns?: readonly string[];
  /**
   * Element types of numbers by field, in batches; lists of numbers in these fields become typed arrays. JSON does not tell
   * floats that are whole from integers, so name those that are floats. Default: int64 if all numbers of a batch are safe
   * integers, otherwise float64, which is an error if batches differ.
   */
  dtypes?: DTypes;
}

/** Options of {@link JsonLinesShards}. */
export interface JsonLinesShardsOptions extends JsonLinesOptions, TableStreamOptions {
  /** Bytes of the parts that belong to one reader each, at least 1. Default: 4 MiB. */
  blockBytes?: number;
}

const optionNames: OptionNames<JsonLinesOptions> = { columns: true, dtypes: true };
const shardsOptionNames: OptionNames<JsonLinesShardsOptions> = {
  ...optionNames,
  shuffle: true,
  bufferSize: true,
  blockBytes: true,
};

const plainExtensions = ['.jsonl', '.ndjson'];
const extensions = plainExtensions.flatMap((extension) => ['', '.gz', '.zst'].map((end) => extension + end));

/** A file and the offsets of its lines. */
interface LinesOfFile {
  path: string;
  /** Offset of each line, and the length of the file. Shared with worker threads. */
  starts: Float64Array<SharedArrayBuffer>;
}

/**
 * The objects of files of JSON lines (Hugging Face's `load_dataset('json')`), by their index. Sample `i` is the object in
 * the `i`-th line that is not blank.
 *
 * Files are mapped into memory, so they may be larger than that, and worker threads and ranks of a host share their pages.
 * Only the offsets of the lines are kept, 8 bytes each. The files must not be truncated meanwhile.
 */
export class JsonLinesDataset<Row = AnyRow> implements Dataset<Row> {
  /** Number of objects. */
  readonly length: number;
  /** Element types of numbers, as given. */
  readonly dtypes: DTypes;
  readonly #files: readonly (LinesOfFile & { bytes: Buffer; end: number })[];
  readonly #fields: JsonFields;
  readonly #worker: WorkerDataset;

  /**
   * Use {@link loadJsonLines}, which finds the files and their lines.
   *
   * @internal
   */
  constructor(files: readonly LinesOfFile[], options: JsonLinesOptions = {}) {
    const { columns, dtypes = {} } = options;
    this.#fields = { columns, dtypes };
    this.dtypes = dtypes;
    let end = 0;
    this.#files = files.map(({ path, starts }) => {
      end += starts.length - 1;
      return { path, starts, bytes: Buffer.from(mappedFile(path).buffer), end };
    });
    this.length = end;
    this.#worker = { module: import.meta.url, args: ['dataset', files, options] };
  }

  /**
   * Returns the object at `index`. Throws `RangeError` if `index` is out of range, and `InvalidDataError` that names file
   * and line if the line is not an object.
   */
  at(index: number): Row {
    if (!Number.isInteger(index) || index < 0 || index >= this.length)
      throw new RangeError(`JsonLinesDataset: expected an index from 0 to ${this.length - 1}, got ${index}.`);
    const { path, starts, bytes, end } = this.#files.find((file) => index < file.end)!;
    const line = index - (end - (starts.length - 1));
    try {
      return jsonRow(bytes.subarray(starts[line], starts[line + 1]), this.#fields) as Row;
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
      throw badLine(path, 1 + countNewlines(bytes.subarray(0, starts[line])), error);
    }
  }

  /** A thread maps the files again, which shares their pages, and receives the offsets of the lines from this one. */
  forWorkers(): WorkerDataset {
    return this.#worker;
  }
}

/**
 * The objects of files of JSON lines, read from start to end (Hugging Face's `load_dataset('json', streaming=True)`).
 *
 *     const train = new JsonLinesShards('s3://texts/train-*.jsonl', { columns: ['text'], shuffle: true });
 *
 * In an epoch each block of a file belongs to one worker of one rank, so each line is visited once; with fewer blocks than
 * readers, each reader reads all blocks and keeps every n-th line. `shuffle` permutes the blocks for `seed` + `epoch` of the
 * loader, and each worker chooses its next line at random from a buffer. Files compressed by gzip (`.gz`) or, from Node.js
 * 22.15 on, by zstd (`.zst`) are one block.
 */
export class JsonLinesShards<Row = AnyRow> implements IterableDataset<Row> {
  /** Element types of numbers, as given. */
  readonly dtypes: DTypes;
  readonly #stream: TableStream<LineBlock>;
  readonly #worker: WorkerDataset;

  /**
   * @param paths files, folders with `.jsonl` and `.ndjson` files, or patterns, local or `s3://bucket/…`; see
   * {@link loadParquet}. They are looked up by the first iteration.
   * @throws InvalidArgumentError for options out of range
   */
  constructor(paths: TablePaths, options: JsonLinesShardsOptions = {}) {
    const who = 'JsonLinesShards';
    requireOptions(who, options, shardsOptionNames);
    requireColumns(who, options);
    requireStreamOptions(who, options);
    const { columns, dtypes = {}, blockBytes = 2 ** 22 } = options;
    requireInteger(blockBytes, { who, what: 'blockBytes', min: 1 });
    const patterns = tablePatterns(who, paths);
    this.dtypes = dtypes;
    const format = new JsonLinesFormat({ columns, dtypes }, blockBytes);
    this.#stream = new TableStream(format, { who, patterns, extensions }, options);
    this.#worker = { module: import.meta.url, args: ['shards', patterns, options] };
  }

  /** Yields the objects of one share. The loop throws an `InvalidDataError` that names file and line for an invalid line. */
  iterate(share: DataShare): AsyncGenerator<Row, void> {
    return this.#stream.iterate(share) as AsyncGenerator<Row, void>;
  }

  /** How worker threads create this dataset. */
  forWorkers(): WorkerDataset {
    return this.#worker;
  }
}

/**
 * Opens local files of JSON lines as a dataset whose objects are accessed by index. Reads the files once, to find their
 * lines.
 *
 * @param paths files, folders with `.jsonl` and `.ndjson` files, or patterns; see {@link loadParquet}
 * @throws InvalidArgumentError for a bucket; InvalidDataError for a path without files or a compressed file; StorageError
 * for files that cannot be read
 */
export async function loadJsonLines<Row = AnyRow>(
  paths: TablePaths,
  options: JsonLinesOptions = {},
): Promise<JsonLinesDataset<Row>> {
  const who = 'loadJsonLines';
  requireOptions(who, options, optionNames);
  requireColumns(who, options);
  const patterns = tablePatterns(who, paths);
  const bucket = patterns.find(isBucket);
  if (bucket !== undefined)
    throw new InvalidArgumentError(
      `${who}: expected local files, which are mapped into memory, got ${bucket}. Use JsonLinesShards, or copy the files.`,
    );
  const files: LinesOfFile[] = [];
  for (const path of await tableFiles(who, patterns, plainExtensions)) {
    const bytes = Buffer.from(mappedFile(path).buffer);
    requireText(path, bytes.subarray(0, formatBytes));
    files.push({ path, starts: startsOfLines(bytes, { skipBlank: true }) });
  }
  return new JsonLinesDataset(files, options);
}

function requireText(path: string, start: Uint8Array): void {
  const { what = '', cure = '' } = knownFormat(start) ?? {};
  if (what === '' || what === 'JSON') return;
  throw new InvalidDataError(path, `expected JSON lines, but it is ${what}`, cure);
}

/** Called by worker threads. */
export function createDataset(
  ...[form, ...args]:
    | ['dataset', ...ConstructorParameters<typeof JsonLinesDataset>]
    | ['shards', ...ConstructorParameters<typeof JsonLinesShards>]
): JsonLinesDataset | JsonLinesShards {
  return form === 'dataset'
    ? new JsonLinesDataset(...(args as ConstructorParameters<typeof JsonLinesDataset>))
    : new JsonLinesShards(...(args as ConstructorParameters<typeof JsonLinesShards>));
}
