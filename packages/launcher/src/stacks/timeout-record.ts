import type { RankIdentity } from '@ringrun/core';

/** A timeout of the main thread, as its helper thread receives it. */
export interface TimeoutRecord {
  operation: string;
  stack: string;
  /** The ranks that were missing. */
  missing: readonly RankIdentity[];
  /** For the report: its number of bytes, or −1 for none, then the bytes. The main thread waits for the first word. */
  reply: SharedArrayBuffer;
  /** Shared memory of `closeBeforeExit`. */
  connections: SharedArrayBuffer;
}

const headBytes = 4;
export const replyBytes = 256 * 1024;

/** Answers with the report, truncated to the available memory. */
export function reply({ reply: buffer }: TimeoutRecord, report: string | undefined): void {
  const bytes = Buffer.from(report ?? '').subarray(0, buffer.byteLength - headBytes);
  new Uint8Array(buffer, headBytes).set(bytes);
  const head = new Int32Array(buffer, 0, 1);
  Atomics.store(head, 0, report === undefined ? -1 : bytes.length);
  Atomics.notify(head, 0);
}

/** Blocks until the report is available. */
export function awaitReply(buffer: SharedArrayBuffer, withinMs: number): string | undefined {
  const head = new Int32Array(buffer, 0, 1);
  Atomics.wait(head, 0, 0, withinMs);
  const bytes = Atomics.load(head, 0);
  return bytes > 0 ? Buffer.from(new Uint8Array(buffer, headBytes, bytes)).toString() : undefined;
}
