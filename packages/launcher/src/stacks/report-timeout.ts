// On the main thread of a worker.
import { registry } from '@ringrun/core';
import type { CollectiveTimeoutError } from '@ringrun/core';
import { closeBeforeExit } from './connections.ts';
import type { StackThread } from './stack-thread.ts';
import { awaitReply, replyBytes } from './timeout-record.ts';
import type { TimeoutRecord } from './timeout-record.ts';

/** Maximum milliseconds that a failed operation waits for its report. */
const maxMs = 4500;

/** Makes errors of timeouts carry the stacks of the ranks of the job, which `helper` collects. */
export function reportTimeouts(helper: StackThread): void {
  let connections: SharedArrayBuffer | undefined;
  registry.reportTimeout = (error: CollectiveTimeoutError) => {
    const reply = new SharedArrayBuffer(replyBytes);
    const record: TimeoutRecord = {
      operation: error.operation,
      stack: error.stack ?? '',
      missing: error.missing.map(({ rank, host, pid }) => ({ rank, host, pid })),
      reply,
      connections: (connections ??= closeBeforeExit(helper)),
    };
    helper.send(record);
    return awaitReply(reply, maxMs);
  };
}
