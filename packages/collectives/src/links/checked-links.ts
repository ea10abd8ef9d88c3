import { InvalidArgumentError, printable } from '@ringrun/core';
import type { Links } from '@ringrun/core';

/**
 * Checks links that a user wrote, or that a file contains.
 *
 * @param where The source, as the subject of the error: `The option links`, `/data/links.json`.
 * @throws InvalidArgumentError with the first problem.
 */
export function checkedLinks(value: unknown, where: string): Links {
  const { hosts, delay, bandwidth, capacity } = checkedObject(value, where);
  const names = checkedNames(hosts, where);
  const among = { names, where };
  return {
    hosts: names,
    delay: checkedMatrix('delay', delay, { ...among, least: 0 }),
    bandwidth: checkedMatrix('bandwidth', bandwidth, { ...among, least: Number.MIN_VALUE }),
    capacity: checkedRow('capacity', capacity, { ...among, least: Number.MIN_VALUE }),
  };
}

interface Among {
  names: readonly string[];
  where: string;
  /** The smallest number between two different hosts. */
  least: number;
}

const units = { delay: 'seconds', bandwidth: 'bytes per second', capacity: 'bytes per second' };
type Field = keyof typeof units;

function checkedObject(value: unknown, where: string): Partial<Record<keyof Links, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw refusal(where, 'an object with hosts, delay, bandwidth and capacity', value);
}

function checkedNames(hosts: unknown, where: string): readonly string[] {
  const isList = Array.isArray(hosts) && hosts.length > 0 && hosts.every((one) => typeof one === 'string');
  if (isList) return [...hosts];
  throw refusal(`${where}: hosts`, 'a list of at least one host name', hosts);
}

function checkedMatrix(field: Field, matrix: unknown, among: Among): readonly (readonly number[])[] {
  const { names, where } = among;
  if (!Array.isArray(matrix) || matrix.length !== names.length) {
    throw refusal(`${where}: ${field}`, `${names.length} rows, one for each host`, matrix);
  }
  return matrix.map((row: unknown, from) => checkedRow(field, row, among, from));
}

/** @param from The host of a matrix's row: its number for itself is 0. */
function checkedRow(field: Field, row: unknown, among: Among, from?: number): readonly number[] {
  const { names, where, least } = among;
  const name = from === undefined ? field : `${field}[${from}]`;
  if (!Array.isArray(row) || row.length !== names.length) {
    throw refusal(`${where}: ${name}`, `${names.length} numbers, one for each host`, row);
  }
  return row.map((number: unknown, to) => {
    if (to === from) return 0;
    if (typeof number === 'number' && Number.isFinite(number) && number >= least) return number;
    const range = least === 0 ? 'of at least 0' : 'above 0';
    throw refusal(`${where}: ${name}[${to}]`, `${units[field]}, a number ${range}`, number);
  });
}

function refusal(subject: string, expected: string, got: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    `${subject}: expected ${expected}, got ${describe(got)}. docs/launching.md, "Links between hosts", shows the format.`,
  );
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return value.length === 1 ? 'a list of 1' : `a list of ${value.length}`;
  if (value === undefined) return 'nothing';
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  return printable(JSON.stringify(value), 80);
}
