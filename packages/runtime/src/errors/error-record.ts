import { renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { inspect } from 'node:util';
import { requireOptions, type OptionNames } from '@ringrun/collectives/require-options';
import { sourcePlaceOf, type SourcePlace } from './source-place.ts';

/** What a process leaves behind about the error that ended it, for its launcher. */
export interface ErrorRecord {
  message: string;
  /** JavaScript stack, the error's name and message first, and its causes; for a thrown value that is no Error, that value. */
  stack: string;
  /** The error's `code`, when it has one. */
  code?: string;
  /** RANK of the process, when it has one. */
  rank?: number;
  host: string;
  pid: number;
  /** Milliseconds since the epoch. */
  time: number;
  /** The collective in which it happened, such as `allReduce #41 (float32, 1,048,576 elements)`, when the error knows it. */
  operation?: string;
  /** Where in the source it is, when the source could not be read. */
  place?: SourcePlace;
}

/** One per process, however many copies of this module it loads. */
const installed = Symbol.for('ringrun.errorRecord');

export interface ErrorRecordOptions {
  /** Whether the launcher shows the record, so that Node need not print the error too, once for every rank; false unless given. */
  shownByLauncher?: boolean;
}

const optionNames: OptionNames<ErrorRecordOptions> = { shownByLauncher: true };

/**
 * From now on an uncaught exception or unhandled rejection writes an `ErrorRecord` as JSON to the file that RINGRUN_ERROR_FILE names,
 * before the process ends as Node would end it. Without the variable nothing is written. Calling it again does nothing.
 */
export function installErrorRecord(options: ErrorRecordOptions = {}): void {
  requireOptions('installErrorRecord', options, optionNames);
  const { shownByLauncher = false } = options;
  const marks = process as unknown as Record<symbol, boolean | undefined>;
  if (marks[installed]) return;
  marks[installed] = true;
  // Unlike a handler of `uncaughtException`, a monitor leaves it to Node to print the error and exit with 1.
  process.on('uncaughtExceptionMonitor', (error: unknown) => {
    const path = process.env['RINGRUN_ERROR_FILE'];
    if (!path) return;
    const written = writeErrorRecord(path, describeError(error, process.env, Date.now()));
    // A program that handles the exception itself goes on.
    const fatal = process.listenerCount('uncaughtException') === 0;
    if (written && shownByLauncher && fatal) process.exit(1);
  });
}

/** The record of a thrown value. */
export function describeError(error: unknown, env: NodeJS.ProcessEnv, time: number): ErrorRecord {
  const { code, operation } = (error ?? {}) as { code?: unknown; operation?: unknown };
  const place = sourcePlaceOf(error);
  const rank = Number.parseInt(env['RANK'] ?? '', 10);
  return {
    message: error instanceof Error ? error.message : inspect(error),
    // With its causes, which a stack alone leaves out.
    stack: error instanceof Error && error.stack && !error.cause ? error.stack : inspect(error),
    ...(typeof code === 'string' ? { code } : {}),
    ...(Number.isNaN(rank) ? {} : { rank }),
    host: hostname(),
    pid: process.pid,
    time,
    ...(typeof operation === 'string' ? { operation } : {}),
    ...(place ? { place } : {}),
  };
}

/** A reader finds a whole record or none. Answers with whether there is one. */
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
