import { compareKinds } from '@ringrun/rendezvous/rounds';
import type { FailureKind } from '@ringrun/rendezvous/rounds';
import type { Blame, BlamedRank } from '../worker/blame.ts';
import type { ErrorRecord } from '../worker/error-record.ts';
import type { ExitRecord } from '../worker/exit-record.ts';
import { exitCodeOf } from './signal-words.ts';
import type { WorkerOutcome } from './worker.ts';

/** How a worker ended, and its own records. */
export interface WorkerRecord {
  outcome: WorkerOutcome;
  error: ErrorRecord | undefined;
  exit?: ExitRecord | undefined;
  /** Whether a fault-tolerant job continued without it. */
  isOutlived?: boolean;
  /** The file with its stderr, if the console did not show it. */
  hiddenOutput?: string | undefined;
}

/** A worker, and how its failure relates to those of the others. */
export interface RootWorker {
  worker: WorkerRecord;
  kind: FailureKind;
}

/**
 * The worker whose failure explains the others, by the kind of its failure, and among equal kinds the first in time; of
 * outlived ones the last, after which the job did not continue. Undefined if no worker failed by itself: a worker that
 * left early explains failures, but is none.
 */
export function findRootCause(workers: readonly WorkerRecord[]): RootWorker | undefined {
  const failed = classify(workers);
  return failed.some(({ kind }) => kind !== 'left' && kind !== 'stopped') ? failed[0] : undefined;
}

/** The workers that exited with 0 while other ranks may have needed them, in the order of their ends. */
export function findEarlyLeavers(workers: readonly WorkerRecord[]): RootWorker[] {
  return classify(workers).filter(({ kind, worker }) => kind === 'left' && worker.outcome.exitCode === 0);
}

/** All workers that failed or left early, the root cause first. */
function classify(workers: readonly WorkerRecord[]): RootWorker[] {
  const blamed = workers.flatMap((worker) => blameOf(worker)?.ranks ?? []);
  return workers
    .flatMap((worker) => {
      const kind = kindOf(worker, blamed);
      return kind === undefined ? [] : [{ worker, kind }];
    })
    .sort((a, b) => compareKinds(a.kind, b.kind) || compareTimes(a, b));
}

function compareTimes(a: RootWorker, b: RootWorker): number {
  const later = failedAt(a.worker) - failedAt(b.worker);
  return a.kind === 'outlived' ? -later : later;
}

function kindOf(worker: WorkerRecord, blamed: readonly BlamedRank[]): FailureKind | undefined {
  if (leftEarly(worker, blamed)) return 'left';
  if (!failedByItself(worker.outcome)) return wasExiting(worker) ? 'stopped' : undefined;
  const blame = blameOf(worker);
  if (blame?.isCertain === true || failedAfterSignal(worker)) return 'follows';
  if (worker.isOutlived === true) return isBlamed(worker.outcome, blamed) ? 'left' : 'outlived';
  return blame === undefined ? 'own' : 'suspects';
}

/** The ranks that caused the error of a worker, or the failure of its group that the program had caught. */
function blameOf({ error, exit }: WorkerRecord): Blame | undefined {
  return error === undefined ? exit?.failure?.blames : error.blames;
}

/** Whether it exited with 0 as a rank of a group that it had not destroyed, or although other ranks waited for it. */
function leftEarly({ outcome, exit }: WorkerRecord, blamed: readonly BlamedRank[]): boolean {
  const { exitCode, sentSignal } = outcome;
  const leftAt = exit?.time ?? outcome.endedAt;
  if (exitCode !== 0 || (sentSignal !== undefined && leftAt >= sentSignal.at)) return false;
  return exit?.wasRank === true || isBlamed(outcome, blamed);
}

function isBlamed({ rank, pid, host }: WorkerOutcome, blamed: readonly BlamedRank[]): boolean {
  return blamed.some((one) => ('pid' in one ? one.pid === pid && one.host === host : one.rank === rank));
}

/** Whether the launcher stopped a worker that had already recorded its own error or its exit. */
export function wasExiting(worker: WorkerRecord): boolean {
  const { outcome, error, exit } = worker;
  const endsAt = error?.hostTime ?? exit?.time;
  if (failedByItself(outcome) || outcome.sentSignal === undefined || endsAt === undefined) return false;
  return endsAt < outcome.sentSignal.at && blameOf(worker) === undefined;
}

function failedByItself({ exitCode, signal, sentSignal, forced }: WorkerOutcome): boolean {
  if (exitCode === 0) return false;
  const diedOfIt = sentSignal !== undefined && signal !== null && (signal === sentSignal.signal || forced);
  const exitedOnIt = sentSignal !== undefined && exitCode === exitCodeOf(sentSignal.signal);
  return !diedOfIt && !exitedOnIt;
}

function failedAfterSignal(worker: WorkerRecord): boolean {
  const { sentSignal, signal } = worker.outcome;
  return sentSignal !== undefined && signal === null && failedAt(worker) >= sentSignal.at;
}

/** On the clock of `hostTime`. */
export function failedAt({ outcome, error, exit }: WorkerRecord): number {
  return error?.hostTime ?? exit?.time ?? outcome.endedAt;
}
