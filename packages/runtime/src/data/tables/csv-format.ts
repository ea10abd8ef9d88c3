import { isMissingPackage, missingPackage } from '@ringrun/core';
import { storedAt } from '../../storage/stored-at.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import type { NumberDType } from '../number-dtype.ts';
import { decompressed, through } from '../shards/decompressed.ts';
import type { TableFormat, TablePart } from './table-format.ts';
import type { TableRow } from './table-row.ts';

/** Type of a column of CSV. */
export type CsvDType = NumberDType | 'string';

/** How files are parsed. */
export interface CsvDialect {
  /** Names of columns to use; undefined for all. */
  columns: readonly string[] | undefined;
  /** Types by column; columns without one are strings. */
  dtypes: Readonly<Record<string, CsvDType>>;
  /** Names of the columns; undefined if the first record has them. */
  names: readonly string[] | undefined;
  delimiter: string;
}

/** An optional package. */
const csvParse = 'csv-parse';

/** A record, and the line in which it ends, from 1. */
interface CsvRecord {
  record: string[];
  info: { lines: number };
}

/** Reads files of CSV, each of which is one part. */
export class CsvFormat implements TableFormat<TablePart> {
  readonly #dialect: CsvDialect;

  constructor(dialect: CsvDialect) {
    this.#dialect = dialect;
  }

  parts(url: string): Promise<TablePart[]> {
    return Promise.resolve([{ url }]);
  }

  rows({ url }: TablePart): Promise<AsyncIterable<TableRow>> {
    return Promise.resolve(this.#rowsOf(url));
  }

  async *#rowsOf(url: string): AsyncGenerator<TableRow, void> {
    const { dtypes } = this.#dialect;
    let header = this.#dialect.names && new Header(url, 1, this.#dialect.names, this.#dialect);
    for await (const { record, info } of recordsOf(url, this.#dialect.delimiter)) {
      if (header === undefined) {
        header = new Header(url, info.lines, record, this.#dialect);
        continue;
      }
      if (record.length !== header.names.length)
        throw new InvalidDataError(
          url,
          `line ${info.lines}: expected ${header.names.length} fields (${header.names.join(', ')}), got ${record.length}`,
          'Correct the line, or the option delimiter.',
        );
      const entries = header.used.map(([name, index]) => {
        const dtype = Object.hasOwn(dtypes, name) ? dtypes[name] : 'string';
        const place = () => `line ${info.lines}, column ${index + 1} (${name})`;
        return [name, dtype === 'string' ? record[index] : numberOf(record[index], dtype, url, place)];
      });
      yield Object.fromEntries(entries) as TableRow;
    }
  }
}

/** The names of the columns of a file, and where those that are used are. */
class Header {
  readonly names: readonly string[];
  readonly used: readonly (readonly [name: string, index: number])[];

  constructor(url: string, line: number, names: readonly string[], { columns, dtypes }: CsvDialect) {
    this.names = names;
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined)
      throw new InvalidDataError(
        url,
        `line ${line}: expected each column once, got ${twice} twice`,
        'Rename one.',
      );
    for (const name of [...(columns ?? []), ...Object.keys(dtypes)]) {
      if (names.includes(name)) continue;
      throw new InvalidDataError(
        url,
        `line ${line}: expected a column ${name}, got ${names.join(', ')}`,
        'Correct the name, or the option delimiter; without names in the first line, pass them as header.',
      );
    }
    this.used = (columns ?? names).map((name) => [name, names.indexOf(name)]);
  }
}

/** @throws InvalidDataError for a text that is not a number, or one that is not of the type */
function numberOf(text: string, dtype: NumberDType, url: string, place: () => string): number {
  const number = Number(text);
  const isNumber = text.trim() !== '' && (!Number.isNaN(number) || /^\s*nan\s*$/i.test(text));
  const fits =
    isNumber &&
    (dtype === 'int64' ? Number.isSafeInteger(number) : dtype === 'int32' ? (number | 0) === number : true);
  if (fits) return number;
  const expected = dtype.startsWith('int') ? `an integer (${dtype})` : `a number (${dtype})`;
  throw new InvalidDataError(
    url,
    `${place()}: expected ${expected}, got ${JSON.stringify(text)}`,
    'Correct the value, or read the column as string.',
  );
}

async function* recordsOf(url: string, delimiter: string): AsyncGenerator<CsvRecord, void> {
  const { parse, CsvError } = await loadCsvParse(url);
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
  });
  const { storage, name } = storedAt(url);
  try {
    yield* through<CsvRecord>(decompressed(url, storage.chunks(name), 'CSV'), parser);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // Not in the declarations of the class.
    const { lines, column } = error as unknown as { lines?: number; column?: number | string };
    const at = typeof column === 'number' ? `line ${lines}, column ${column + 1}` : `line ${lines}`;
    throw new InvalidDataError(url, `${at}: expected CSV, got ${error.message}`, 'Correct the line.', {
      cause: error,
    });
  }
}

async function loadCsvParse(url: string): Promise<typeof import('csv-parse')> {
  try {
    return await import('csv-parse');
  } catch (error) {
    if (isMissingPackage(error, csvParse)) throw missingPackage(`reading ${url}`, csvParse, error);
    throw error;
  }
}
