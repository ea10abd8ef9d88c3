import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Blame } from './blame.ts';
import type { ErrorRecord } from './error-record.ts';
import { hostTime } from './host-time.ts';

/**
 * Reads an error record of ringrun or of torch's `@record`; undefined if it does not exist or is incomplete.
 *
 * @param pid Pid of the worker, which torch's record does not contain.
 */
export function readErrorRecord(path: string, pid: number | undefined): ErrorRecord | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isErrorRecord(record)) return { ...record, hostTime: record.hostTime ?? hostTimeOf(record.time) };
    // torch records whole seconds, too coarse to find the rank that failed first.
    return isTorchRecord(record) ? fromTorch(record, pid ?? 0, statSync(path).mtimeMs) : undefined;
  } catch {
    return undefined;
  }
}

/** When this host's wall clock showed `wall`, on the clock of `hostTime`, if the wall clock was not changed since. */
function hostTimeOf(wall: number): number {
  return hostTime() - (Date.now() - wall);
}

/** A record of another version, or of another program, may have the wall clock only. */
type WrittenRecord = Omit<ErrorRecord, 'hostTime'> & Partial<Pick<ErrorRecord, 'hostTime'>>;

/** Validates the record, because any program can write the file. */
export function isErrorRecord(value: unknown): value is WrittenRecord {
  const {
    message,
    stack,
    pid,
    time,
    hostTime: onHost,
    operation,
    blames,
  } = (value ?? {}) as Partial<Record<keyof ErrorRecord, unknown>>;
  const isComplete = typeof message === 'string' && typeof stack === 'string';
  const isDated =
    typeof pid === 'number' &&
    typeof time === 'number' &&
    (onHost === undefined || typeof onHost === 'number');
  const isNamed = operation === undefined || typeof operation === 'string';
  return isComplete && isDated && isNamed && (blames === undefined || isBlame(blames));
}

function isBlame(value: unknown): value is Blame {
  const { isCertain, ranks } = (value ?? {}) as Partial<Record<keyof Blame, unknown>>;
  const isList = Array.isArray(ranks) && ranks.every((one) => typeof one === 'object' && one !== null);
  return typeof isCertain === 'boolean' && isList;
}

/** The record that torch.distributed.elastic.multiprocessing.errors writes to TORCHELASTIC_ERROR_FILE. */
interface TorchRecord {
  message: { message: string; extraInfo: { py_callstack: string } };
}

function isTorchRecord(value: unknown): value is TorchRecord {
  const { message } = (value ?? {}) as {
    message?: { message?: unknown; extraInfo?: { py_callstack?: unknown } };
  };
  return typeof message?.message === 'string' && typeof message.extraInfo?.py_callstack === 'string';
}

/** Messages of gloo and NCCL about a dead peer. */
const lostPeer = /Connection (?:closed|reset) by peer|remote process exited/;

function fromTorch({ message: { message, extraInfo } }: TorchRecord, pid: number, time: number): ErrorRecord {
  const isConsequence = lostPeer.test(message);
  return {
    message,
    stack: extraInfo.py_callstack.trimEnd(),
    host: hostname(),
    pid,
    time,
    hostTime: hostTimeOf(time),
    ...(isConsequence ? { code: 'ERR_PEER_DIED', blames: { isCertain: true, ranks: [] } } : {}),
  };
}
