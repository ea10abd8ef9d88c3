import { renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { inspect } from 'node:util';
import { withoutCredentials } from '@ringrun/core';
import { blameOf } from './blame.ts';
import type { Blame } from './blame.ts';
import { hostTime } from './host-time.ts';
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
  /** The other ranks that caused it, if it names any. */
  blames?: Blame;
  /** RANK of the process, if set. */
  rank?: number;
  /** Host name of the process's machine. */
  host: string;
  /** Process id on that host. */
  pid: number;
  /** Milliseconds since the epoch. */
  time: number;
  /**
   * Milliseconds on the monotonic clock of the host, on which failures are ordered: the wall clock may be changed between
   * two of them.
   */
  hostTime: number;
  /** The collective that failed, such as `allReduce #41 (float32, 1,048,576 elements)`, if known. */
  operation?: string;
  /** Location of a syntax error. */
  place?: SourceLocation;
}

/** Writes the record of an error for the launcher. Returns false without a launcher, or if it cannot be written. */
export function recordError(error: unknown): boolean {
  const path = process.env['RINGRUN_ERROR_FILE'];
  isRecorded = path ? writeRecord(path, describeError(error, process.env, timeNow())) : false;
  return isRecorded;
}

let isRecorded = false;

/** Whether this process has written the record of an error. */
export function hasRecordedError(): boolean {
  return isRecorded;
}

/** Maximum numbers of characters of a message and of a stack. */
const maxMessage = 2000;
const maxStack = 20_000;

/** The wall clock, and `hostTime()`. */
export interface RecordTime {
  wall: number;
  host: number;
}

export function timeNow(): RecordTime {
  return { wall: Date.now(), host: hostTime() };
}

/** The record of a thrown value. Never throws, even if the value's getters do. */
export function describeError(error: unknown, env: NodeJS.ProcessEnv, now: RecordTime): ErrorRecord {
  const self = { host: hostname(), pid: process.pid };
  const { message, stack } = attempt(() => textsOf(error)) ?? unreadable;
  const code = attempt(() => (error as { code?: unknown } | undefined)?.code);
  const operation = attempt(() => (error as { operation?: unknown } | undefined)?.operation);
  const location = attempt(() => sourceLocationOf(error));
  const blames = attempt(() => blameOf(error, self));
  const rank = Number.parseInt(env['RANK'] ?? '', 10);
  return {
    message: withoutCredentials(message),
    stack: withoutCredentials(stack),
    ...(typeof code === 'string' ? { code } : {}),
    ...(blames ? { blames } : {}),
    ...(Number.isNaN(rank) ? {} : { rank }),
    ...self,
    time: now.wall,
    hostTime: now.host,
    ...(typeof operation === 'string' ? { operation } : {}),
    ...(location ? { place: location } : {}),
  };
}

type Texts = Pick<ErrorRecord, 'message' | 'stack'>;

const unreadable: Texts = {
  message: 'a thrown value that cannot be inspected',
  stack: 'a thrown value that cannot be inspected',
};

function textsOf(error: unknown): Texts {
  if (!(error instanceof Error)) {
    const inspected = cut(inspect(error), maxStack);
    return { message: inspected, stack: inspected };
  }
  // `inspect` includes causes and the errors of an AggregateError, `stack` does not.
  const isWhole = error.stack && !error.cause && !(error instanceof AggregateError);
  const stack = isWhole ? error.stack! : inspect(error);
  const message = cut(error.message, maxMessage);
  return {
    message,
    stack: cut(
      stack.replace(error.message, () => message),
      maxStack,
    ),
  };
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Writes atomically: a reader finds a complete record or none. Returns true if the record was written. */
export function writeRecord(path: string, record: object): boolean {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, `${JSON.stringify(record)}\n`);
    renameSync(temporary, path);
    return true;
  } catch (failure) {
    process.stderr.write(
      `ringrun: how this process ended could not be recorded in ${path}: ${String(failure)}\n`,
    );
    return false;
  }
}
