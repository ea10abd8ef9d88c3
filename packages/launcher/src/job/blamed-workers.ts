import type { Clock } from '@ringrun/rendezvous';
import { readErrorRecord } from '../worker/read-error-record.ts';
import type { SupervisedWorker, WorkerOutcome } from './worker.ts';

/** Milliseconds in which a worker that another one blames may record its own error. */
const maxRecordMs = 1000;

/**
 * Waits until the workers that the failure of another one blames have ended, at most one second: all ranks detect some
 * failures at once, such as different operations, and a signal would end a worker before it has recorded the cause.
 */
export async function awaitBlamed(
  { errorFile, pid }: WorkerOutcome,
  left: Iterable<SupervisedWorker>,
  clock: Clock,
): Promise<void> {
  const blames = errorFile === undefined ? undefined : readErrorRecord(errorFile, pid)?.blames;
  const blamed = [...left].filter((worker) =>
    blames?.ranks.some((one) => 'pid' in one && one.pid === worker.pid),
  );
  if (blamed.length === 0) return;
  const isOver = new AbortController();
  const ended = Promise.all(blamed.map((worker) => worker.ended));
  const limit = clock.delay(maxRecordMs, isOver.signal).catch(() => undefined);
  await Promise.race([ended, limit]);
  isOver.abort();
}
