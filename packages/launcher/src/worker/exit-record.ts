import { readFileSync } from 'node:fs';
import { registry } from '@ringrun/core';
import { describeError, hasRecordedError, timeNow, writeRecord } from './error-record.ts';
import type { ErrorRecord } from './error-record.ts';
import { isErrorRecord } from './read-error-record.ts';

/** How a process exited as a rank, after a failure of its group, or with a code other than 0. */
export interface ExitRecord {
  /** Process id. */
  pid: number;
  /** On the clock of `hostTime`. */
  time: number;
  exitCode: number;
  /** Whether it was a rank of a group that it had not destroyed. */
  wasRank: boolean;
  /** The caller of process.exit, such as `train (file:///job/train.js:12:3)`. */
  caller?: string;
  /** The failure of its group that the program had caught. */
  failure?: ErrorRecord;
}

/** A file next to the worker's error record. */
function exitRecordOf(errorFile: string): string {
  return `${errorFile}.exit`;
}

/** Writes the record of this process when it exits, except after an error that was recorded. */
export function recordExit(): void {
  process.on('exit', (code) => {
    const errorFile = process.env['RINGRUN_ERROR_FILE'];
    const { isRank: wasRank, groupFailure } = registry;
    const isNormal = code === 0 && !wasRank && groupFailure === undefined;
    if (!errorFile || isNormal || (code !== 0 && hasRecordedError())) return;
    const now = timeNow();
    const caller = callerOfExit();
    const exitCode = caller === undefined && awaitsAtTopLevel() ? unsettledAwait : code;
    const failure = groupFailure === undefined ? undefined : describeError(groupFailure, process.env, now);
    writeRecord(exitRecordOf(errorFile), {
      pid: process.pid,
      time: now.host,
      exitCode,
      wasRank,
      caller,
      failure,
    });
  });
}

/** Node's exit code for a top-level await that never settled. */
export const unsettledAwait = 13;

/**
 * Whether the script waits in a top-level await, so that Node exits with 13 if the event loop is empty. Node's only trace
 * of it is the listener with which it sets this exit code.
 */
export function awaitsAtTopLevel(): boolean {
  return process.listeners('exit').some(({ name }) => name === 'handleProcessExit');
}

/** Undefined if the event loop was empty. */
function callerOfExit(): string | undefined {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  const frames = (new Error().stack ?? '').split('\n');
  Error.stackTraceLimit = stackTraceLimit;
  const exit = frames.findIndex((frame) => /^ +at process\.exit \(node:/.test(frame));
  const caller = exit < 0 ? undefined : frames.at(exit + 1);
  return caller?.trim().replace(/^at (?:async )?/, '');
}

/** Reads the record of a process; undefined if it does not exist or is not complete. */
export function readExitRecord(errorFile: string): ExitRecord | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(exitRecordOf(errorFile), 'utf8'));
    return isExitRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Validates the record, because any program can write the file. */
function isExitRecord(value: unknown): value is ExitRecord {
  const { pid, time, exitCode, wasRank, caller, failure } = (value ?? {}) as Partial<
    Record<keyof ExitRecord, unknown>
  >;
  const hasNumbers = [pid, time, exitCode].every((one) => typeof one === 'number');
  const isNamed = caller === undefined || typeof caller === 'string';
  return (
    hasNumbers && typeof wasRank === 'boolean' && isNamed && (failure === undefined || isErrorRecord(failure))
  );
}
