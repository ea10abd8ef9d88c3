import { printable } from '@ringrun/core';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** The process that writes checkpoints to a location. */
export interface WriterIdentity {
  /** Unique per process. */
  id: string;
  host: string;
  pid: number;
  /** RINGRUN_RUN_ID; empty without a launcher. */
  runId: string;
  /** ISO 8601, UTC. */
  since: string;
}

export const ownIdentity: WriterIdentity = {
  id: randomUUID(),
  host: hostname(),
  pid: process.pid,
  runId: process.env['RINGRUN_RUN_ID'] ?? '',
  since: new Date().toISOString(),
};

/** Returns undefined for invalid bytes, such as those of a partly written file. */
export function decodeIdentity(bytes: Uint8Array): WriterIdentity | undefined {
  try {
    const { id, host, pid, runId, since } = JSON.parse(Buffer.from(bytes).toString('utf8')) as WriterIdentity;
    const isWhole =
      [id, host, runId, since].every((field) => typeof field === 'string') && Number.isInteger(pid);
    return isWhole ? { id, host, pid, runId, since } : undefined;
  } catch {
    return undefined;
  }
}

export function encodeIdentity(identity: WriterIdentity): Uint8Array {
  return Buffer.from(`${JSON.stringify(identity, null, 2)}\n`);
}

/** `process 123 on host a, run x, since 2026-01-02T03:04:05.678Z`. */
export function describeIdentity(identity: WriterIdentity | undefined): string {
  if (identity === undefined) return 'an unknown process';
  const { host, pid, runId, since } = identity;
  return [
    `process ${pid} on host ${printable(host)}`,
    ...(runId === '' ? [] : [`run ${printable(runId, 200)}`]),
    `since ${printable(since)}`,
  ].join(', ');
}
