import { isUtf8 } from 'node:buffer';
import { isPlainObject } from '../sample-kinds.ts';
import { markBytes } from '../datasets/text/lines.ts';
import type { DTypes } from './table-format.ts';
import { BadValue, tableValue } from './table-row.ts';
import type { TableRow, TableValue } from './table-row.ts';

/** Which fields of the objects are used, and the types of their numbers. */
export interface JsonFields {
  /** Undefined for all. */
  columns: readonly string[] | undefined;
  dtypes: DTypes;
}

const cure = 'Correct the line.';

/**
 * Parses a line of JSON to a row. Lists of numbers in a field with a dtype become typed arrays.
 *
 * @throws BadValue for a line that is not an object in JSON, or lacks a column
 */
export function jsonRow(line: Buffer, { columns, dtypes }: JsonFields): TableRow {
  const value = parsed(line);
  if (!isPlainObject(value)) {
    const got = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
    throw new BadValue(`expected an object, such as {"text": "…"}, got ${got}`, cure);
  }
  const names = columns ?? Object.keys(value);
  return Object.fromEntries(names.map((name) => [name, fieldOf(value, name, dtypes)]));
}

function fieldOf(value: Record<string, unknown>, name: string, dtypes: DTypes): TableValue {
  if (!Object.hasOwn(value, name))
    throw new BadValue(`expected the field ${name}, got ${Object.keys(value).join(', ')}`, cure);
  if (!Object.hasOwn(dtypes, name)) return value[name] as TableValue;
  try {
    return tableValue(value[name], dtypes[name]);
  } catch (error) {
    throw error instanceof BadValue ? new BadValue(`field ${name}: ${error.problem}`, error.cure) : error;
  }
}

function parsed(line: Buffer): unknown {
  if (!isUtf8(line)) throw new BadValue('expected UTF-8, got other bytes', 'Convert the file to UTF-8.');
  const text = line.toString('utf8', markBytes(line, 0));
  try {
    return JSON.parse(text);
  } catch (error) {
    const isList = text.trimStart().startsWith('[');
    throw new BadValue(
      `expected an object in JSON, got ${(error as Error).message}`,
      isList ? "Write one object per line: jq -c '.[]' list.json." : cure,
    );
  }
}
