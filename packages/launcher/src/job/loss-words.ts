import type { ErrorRecord } from '../worker/error-record.ts';
import type { LossKind } from './loss.ts';
import type { WorkerOutcome } from './worker.ts';

/** Why a worker is stopped while the others continue: they removed it, or their training has ended without it. */
export type Dismissal = 'removed' | 'unneeded';

export function describeDismissal(
  { rank, pid }: { rank: number; pid: number | undefined },
  why: Dismissal,
): string {
  const reason = {
    removed: 'does not answer the other ranks, which continue without it',
    unneeded: 'is not needed: the training ended before it could join',
  }[why];
  return `rank ${rank} (pid ${pid}) ${reason}; it is stopped`;
}

/** @param restart Number of the restart and their limit, such as `restart 1 of 3`. */
export function describeLoss(
  { rank, pid, signal, exitCode, sentSignal }: WorkerOutcome,
  kind: Exclude<LossKind, 'fatal'>,
  record: ErrorRecord | undefined,
  restart: string,
): string {
  const message = record === undefined ? '' : `: ${record.message.split('\n')[0]}`;
  const end =
    sentSignal !== undefined
      ? 'was stopped'
      : signal !== null
        ? `was killed by ${signal}`
        : `ended with exit code ${exitCode ?? 'unknown'}${message}`;
  const next = {
    outlived: 'the job continues without it',
    late: 'the job has failed, and the other ranks finish',
    replaced: `the job continues, and rank ${rank} is restarted (${restart})`,
    unneeded: 'it was not needed, because the training ended before it could join',
  }[kind];
  return `rank ${rank} (pid ${pid}) ${end}; ${next}`;
}
