import { InvalidArgumentError } from '@ringrun/core';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import type { DTypes } from './table-format.ts';

/** A column of a file. */
export interface ColumnInfo {
  name: string;
  /** Type of its numbers, or of those in its lists; undefined for a column without numbers. */
  dtype: 'float32' | 'int64' | undefined;
}

/** The columns of a table: those that are read, and the types of their numbers. All files must have them. */
export class Columns {
  readonly #who: string;
  readonly #wanted: readonly string[] | undefined;
  readonly #given: DTypes;
  #first: { url: string; dtypes: DTypes; kinds: string } | undefined;

  /**
   * @param wanted names of columns; undefined for all
   * @param given types that replace those of the files
   */
  constructor(who: string, wanted: readonly string[] | undefined, given: DTypes = {}) {
    this.#who = who;
    this.#wanted = wanted;
    this.#given = given;
  }

  /** Types of the numbers, by column. Empty before the first file has been read. */
  get dtypes(): DTypes {
    return this.#first?.dtypes ?? {};
  }

  /**
   * The names of the columns to read from a file.
   *
   * @throws InvalidArgumentError for a column that the file does not have; InvalidDataError for columns that differ from
   * those of another file
   */
  of(url: string, found: readonly ColumnInfo[]): readonly string[] {
    const byName = new Map(found.map((column) => [column.name, column]));
    const names = this.#wanted ?? found.map(({ name }) => name);
    for (const name of [...names, ...Object.keys(this.#given)]) {
      if (byName.has(name)) continue;
      throw new InvalidArgumentError(
        `${this.#who}: expected columns of ${url}, which has ${[...byName.keys()].join(', ')}, got ${name}. Correct the name.`,
      );
    }
    const kinds = names.map((name) => `${name} (${byName.get(name)!.dtype ?? 'no number'})`).join(', ');
    const own = names.flatMap((name) => {
      const dtype = Object.hasOwn(this.#given, name) ? this.#given[name] : byName.get(name)!.dtype;
      return dtype === undefined ? [] : [[name, dtype] as const];
    });
    const first = this.#first ?? { url, dtypes: Object.fromEntries(own), kinds };
    this.#first = first;
    if (first.kinds === kinds) return names;
    throw new InvalidDataError(
      url,
      `expected the columns of ${first.url}, ${first.kinds}, got ${kinds}`,
      'Read files with the same columns, or name common ones in columns.',
    );
  }
}
