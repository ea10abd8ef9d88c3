import { renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { inspect } from 'node:util';
import { registry, requireOptions, withoutCredentials } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { sourceLocationOf, type SourceLocation } from './source-location.ts';

/** The error that ended a process, recorded for its launcher. */
export interface ErrorRecord {
  /** Message of the error. For a thrown value that is not an Error: the inspected value. */
  message: string;
  /**
   * JavaScript stack with the error's name, message and causes. For a thrown value that is not an Error: the inspected
   * value.
   */
  stack: string;
  /** The error's `code`, if any. */
  code?: string;
  /** RANK of the process, if set. */
  rank?: number;
  /** Host name of the process's machine. */
  host: string;
  /** Process id on that host. */
  pid: number;
  /** Milliseconds since the epoch. */
  time: number;
  /** The collective that failed, such as `allReduce #41 (float32, 1,048,576 elements)`, if known. */
  operation?: string;
  /** Location of a syntax error. */
  place?: SourceLocation;
}

/** Options of {@link installErrorRecord}. */
export interface ErrorRecordOptions {
  /**
   * True if the launcher prints the record, so that Node does not print the error again on every rank. Default:
   * `false`.
   */
  shownByLauncher?: boolean;
}

const optionNames: OptionNames<ErrorRecordOptions> = { shownByLauncher: true };

/**
 * Writes an `ErrorRecord` as JSON to the file in RINGRUN_ERROR_FILE on an uncaught exception or unhandled rejection;
 * the process then ends as usual. Writes nothing if the variable is not set. Further calls do nothing.
 */
export function installErrorRecord(options: ErrorRecordOptions = {}): void {
  requireOptions('installErrorRecord', options, optionNames);
  const { shownByLauncher = false } = options;
  if (registry.errorRecordIsInstalled) return;
  registry.errorRecordIsInstalled = true;
  // With a monitor, unlike a handler of `uncaughtException`, Node still prints the error and exits with 1.
  process.on('uncaughtExceptionMonitor', (error: unknown) => {
    const written = recordError(error);
    // A program with its own handler continues.
    const fatal = process.listenerCount('uncaughtException') === 0;
    if (written && shownByLauncher && fatal) process.exit(1);
  });
}

/** Writes the record of an error for the launcher. Returns false without a launcher, or if it cannot be written. */
export function recordError(error: unknown): boolean {
  const path = process.env['RINGRUN_ERROR_FILE'];
  return path ? writeErrorRecord(path, describeError(error, process.env, Date.now())) : false;
}

/** The record of a thrown value. */
export function describeError(error: unknown, env: NodeJS.ProcessEnv, time: number): ErrorRecord {
  const { code, operation } = (error ?? {}) as { code?: unknown; operation?: unknown };
  const location = sourceLocationOf(error);
  const rank = Number.parseInt(env['RANK'] ?? '', 10);
  return {
    message: withoutCredentials(error instanceof Error ? error.message : inspect(error)),
    // `inspect` includes the causes, `stack` does not.
    stack: withoutCredentials(
      error instanceof Error && error.stack && !error.cause ? error.stack : inspect(error),
    ),
    ...(typeof code === 'string' ? { code } : {}),
    ...(Number.isNaN(rank) ? {} : { rank }),
    host: hostname(),
    pid: process.pid,
    time,
    ...(typeof operation === 'string' ? { operation } : {}),
    ...(location ? { place: location } : {}),
  };
}

/** Writes atomically: a reader finds a complete record or none. Returns true if the record was written. */
function writeErrorRecord(path: string, record: ErrorRecord): boolean {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, `${JSON.stringify(record)}\n`);
    renameSync(temporary, path);
    return true;
  } catch (failure) {
    process.stderr.write(`ringrun: the error below could not be recorded in ${path}: ${String(failure)}\n`);
    return false;
  }
}
