import { readFileSync } from 'node:fs';
import type { ErrorRecord } from '../errors/error-record.ts';

/** The record in `path`; undefined when the worker left none that is whole. */
export function readErrorRecord(path: string): ErrorRecord | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isErrorRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** The worker is another program: what it wrote is looked at before it is believed. */
function isErrorRecord(value: unknown): value is ErrorRecord {
  const { message, stack, pid, time, operation } = (value ?? {}) as Partial<
    Record<keyof ErrorRecord, unknown>
  >;
  const isComplete = typeof message === 'string' && typeof stack === 'string';
  const isDated = typeof pid === 'number' && typeof time === 'number';
  return isComplete && isDated && (operation === undefined || typeof operation === 'string');
}
