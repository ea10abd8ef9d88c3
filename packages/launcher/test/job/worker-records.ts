// Records of workers for the tests of the root cause and of its report.
import type { WorkerRecord } from '../../src/job/find-root-cause.ts';
import type { WorkerOutcome } from '../../src/job/worker.ts';
import type { ErrorRecord } from '../../src/worker/error-record.ts';
import type { ExitRecord } from '../../src/worker/exit-record.ts';

/** Milliseconds, on the clock of `hostTime`. */
export const start = 1_000_000;
export const sentSignal = { signal: 'SIGTERM', at: start + 1000 } as const;

export function worker(
  rank: number,
  outcome: Partial<WorkerOutcome>,
  error?: Partial<ErrorRecord>,
): WorkerRecord {
  return {
    outcome: {
      rank,
      localRank: rank,
      host: 'node-7',
      pid: 100 + rank,
      exitCode: null,
      signal: null,
      startError: undefined,
      sentSignal: undefined,
      forced: false,
      endedAt: start + 1000,
      errorFile: undefined,
      ...outcome,
    },
    error: error && {
      message: 'boom',
      stack: 'Error: boom\n    at train (train.ts:1:1)',
      host: 'node-7',
      pid: 100 + rank,
      time: start + 900,
      hostTime: start + 900,
      ...error,
    },
  };
}

export const process1 = { host: 'node-7', pid: 101 };
export const exit = (rank: number, more: Partial<ExitRecord> = {}): ExitRecord => ({
  pid: 100 + rank,
  time: start + 200,
  exitCode: 0,
  wasRank: false,
  ...more,
});
export const finished = (rank: number) => worker(rank, { exitCode: 0 });
export const terminated = (rank: number) => worker(rank, { signal: 'SIGTERM', sentSignal });
export const lostPeer = (rank: number, time: number) =>
  worker(
    rank,
    { exitCode: 1, endedAt: time + 50 },
    {
      code: 'ERR_PEER_DIED',
      blames: { isCertain: true, ranks: [] },
      hostTime: time,
      message: 'rank 2 died',
      stack: 'PeerDiedError: rank 2 died\n    at x',
      operation: 'allReduce #41 (float32, 10 elements, SUM)',
    },
  );
