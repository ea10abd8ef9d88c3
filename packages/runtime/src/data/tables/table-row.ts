import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import type { NumberDType } from '../number-dtype.ts';

/** A value of a table: a typed array for a list of numbers, a Uint8Array for binary data, null for a missing value. */
export type TableValue =
  | number
  | string
  | boolean
  | Date
  | null
  | Uint8Array
  | Float32Array
  | Float64Array
  | Int32Array
  | BigInt64Array
  | TableValue[]
  | { [field: string]: TableValue };

/** A row of a table: values by the names of their columns. */
export type TableRow = Record<string, TableValue>;

/** The default of `Row` of the tables' datasets: a row of any columns, whose values are not checked by TypeScript. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a user names the columns' types, or checks the values
export type AnyRow = Record<string, any>;

/** A value that cannot be converted. The caller adds file and place. */
export class BadValue extends Error {
  /** What was expected, and what it is. */
  readonly problem: string;
  readonly cure: string;

  constructor(problem: string, cure: string) {
    super(problem);
    this.problem = problem;
    this.cure = cure;
  }
}

/**
 * Converts a value of a file to a value of a row. Integers become numbers, and lists of numbers typed arrays of `dtype`.
 *
 * @param dtype type of the column's numbers; undefined for a column without numbers
 * @throws BadValue for an integer that a number does not hold, or a list with another value than a number
 */
export function tableValue(value: unknown, dtype: NumberDType | undefined): TableValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') return safeNumber(value);
  if (typeof value !== 'object' || value instanceof Date) return value as TableValue;
  if (ArrayBuffer.isView(value)) return dtype === undefined ? (value as Uint8Array) : numbers(value, dtype);
  if (Array.isArray(value)) {
    const isNumbers = dtype !== undefined && !isNested(value[0]);
    return isNumbers ? numbers(value, dtype) : value.map((part) => tableValue(part, dtype));
  }
  const entries = Object.entries(value).map(([name, part]) => [name, tableValue(part, undefined)]);
  return Object.fromEntries(entries) as TableRow;
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new BadValue(
    `expected an integer from -(2^53 - 1) to 2^53 - 1, got ${value}`,
    'Leave the column out of columns, or write it as text.',
  );
}

/** A list of numbers as an array of one type. */
function numbers(values: ArrayBufferView | readonly unknown[], dtype: NumberDType): TableValue {
  const list = values as ArrayLike<unknown>;
  for (let i = 0; i < list.length; i += 1) {
    const type = typeof list[i];
    if (type !== 'number' && type !== 'bigint' && type !== 'boolean')
      throw new BadValue(
        `expected a list of numbers, got ${list[i] === null || list[i] === undefined ? 'a missing value' : `a ${type}`} at index ${i}`,
        'Fill the value, or leave the column out of columns.',
      );
  }
  if (dtype === 'int64') {
    if (values instanceof BigInt64Array) return values;
    return BigInt64Array.from(list, (value) => integerOf(value));
  }
  if (dtype === 'int32') return Int32Array.from(list, (value) => int32Of(value));
  return dtype === 'float32' ? Float32Array.from(list, Number) : Float64Array.from(list, Number);
}

function integerOf(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (Number.isSafeInteger(Number(value))) return BigInt(Number(value));
  throw new BadValue(`expected an integer, got ${String(value)}`, 'Use dtype float32, or correct the value.');
}

function int32Of(value: unknown): number {
  const number = Number(value);
  if ((number | 0) === number) return number;
  throw new BadValue(
    `expected an integer from -(2^31) to 2^31 - 1, got ${String(value)}`,
    'Use dtype int64 or float32, or correct the value.',
  );
}

/**
 * A row of columns.
 *
 * @param row index of the row in the file, for errors
 * @throws InvalidDataError that names file, column and row
 */
export function rowOfColumns(
  { url, row, dtypes }: { url: string; row: number; dtypes: Readonly<Record<string, NumberDType>> },
  columns: readonly (readonly [name: string, value: unknown])[],
): TableRow {
  return Object.fromEntries(
    columns.map(([name, value]) => {
      try {
        return [name, tableValue(value, Object.hasOwn(dtypes, name) ? dtypes[name] : undefined)];
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        throw new InvalidDataError(url, `column ${name}, row ${row}: ${error.problem}`, error.cure);
      }
    }),
  );
}
