import type { NumberDType } from '../number-dtype.ts';
import type { TableRow } from './table-row.ts';

/** A part of a table that is read as a whole: a row group, a record batch, a block of lines or a file. */
export interface TablePart {
  /** Path or URL of its file. */
  url: string;
}

/** A part whose rows are counted, so that they can be accessed by index. */
export interface CountedPart extends TablePart {
  rows: number;
  /** Estimate of its size in memory. */
  bytes: number;
}

/** Element types of numbers by column. */
export type DTypes = Readonly<Record<string, NumberDType>>;

/** How the files of a format are read. */
export interface TableFormat<Part extends TablePart> {
  /** The parts of a file, in order. */
  parts(url: string): Promise<Part[]>;
  /** The rows of a part, in order. Resolves when its bytes have been read, unless they are read while rows are used. */
  rows(part: Part): Promise<Iterable<TableRow> | AsyncIterable<TableRow>>;
}

/** The rows of a part in memory. */
export interface PartRows {
  at(row: number): TableRow;
}

/** A format with access to each row. */
export interface IndexedFormat<Part extends CountedPart> extends TableFormat<Part> {
  read(part: Part): Promise<PartRows>;
}

/** All rows of a part in memory. */
export function* rowsIn(rows: PartRows, count: number): Generator<TableRow, void> {
  for (let row = 0; row < count; row += 1) yield rows.at(row);
}

const filesAtOnce = 16;

/** The parts of all files, in order. */
export async function partsOf<Part extends TablePart>(
  format: TableFormat<Part>,
  urls: readonly string[],
): Promise<Part[]> {
  const parts: Part[][] = [];
  let next = 0;
  const work = async () => {
    while (next < urls.length) {
      const index = next++;
      parts[index] = await format.parts(urls[index]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(filesAtOnce, urls.length) }, work));
  return parts.flat();
}
