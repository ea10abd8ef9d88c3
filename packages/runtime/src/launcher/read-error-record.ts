import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ErrorRecord } from '../errors/error-record.ts';

/**
 * The record in `path`, ours or that of torch's `@record`; undefined when the worker left none that is whole.
 *
 * @param pid The worker's: torch's record has none.
 */
export function readErrorRecord(path: string, pid: number | undefined): ErrorRecord | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isErrorRecord(record)) return record;
    // torch's time is in whole seconds: too coarse to tell who failed first.
    return isTorchRecord(record) ? fromTorch(record, pid ?? 0, statSync(path).mtimeMs) : undefined;
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

/** What torch.distributed.elastic.multiprocessing.errors writes to TORCHELASTIC_ERROR_FILE. */
interface TorchRecord {
  message: { message: string; extraInfo: { py_callstack: string } };
}

function isTorchRecord(value: unknown): value is TorchRecord {
  const { message } = (value ?? {}) as {
    message?: { message?: unknown; extraInfo?: { py_callstack?: unknown } };
  };
  return typeof message?.message === 'string' && typeof message.extraInfo?.py_callstack === 'string';
}

/** What gloo and NCCL say of a peer that has died. */
const lostPeer = /Connection (?:closed|reset) by peer|remote process exited/;

function fromTorch({ message: { message, extraInfo } }: TorchRecord, pid: number, time: number): ErrorRecord {
  const isConsequence = lostPeer.test(message);
  return {
    message,
    stack: extraInfo.py_callstack.trimEnd(),
    host: hostname(),
    pid,
    time,
    ...(isConsequence ? { code: 'ERR_PEER_DIED' } : {}),
  };
}
