import type { Clock } from '@ringrun/rendezvous';
import { readErrorRecord } from '../worker/read-error-record.ts';
import type { WorkerOutcome } from './worker.ts';

/** Milliseconds in which a worker that another one blames may record its own error. */
const maxRecordMs = 1000;

/**
 * Waits until the workers that the failure of another one blames have ended, at most one second: all ranks detect some
 * failures at once, such as different operations, and a signal would end a worker before it has recorded the cause. The
 * end of a worker of another node is known here when that node ends the round.
 *
 * @param started The end of each worker of this node, by pid.
 * @param ending Aborted when the workers are stopped for another reason.
 */
export async function awaitBlamed(
  { errorFile, pid }: WorkerOutcome,
  started: ReadonlyMap<number | undefined, Promise<void>>,
  clock: Clock,
  ending: AbortSignal,
): Promise<void> {
  const blames = errorFile === undefined ? undefined : readErrorRecord(errorFile, pid)?.blames;
  const pids = blames?.ranks.flatMap((one) => ('pid' in one ? [one.pid] : [])) ?? [];
  if (pids.length === 0 || ending.aborted) return;
  const isOver = new AbortController();
  const limit = clock.delay(maxRecordMs, AbortSignal.any([isOver.signal, ending])).catch(() => undefined);
  const ended = Promise.all(pids.map((one) => started.get(one) ?? limit));
  await Promise.race([ended, limit]);
  isOver.abort();
}
