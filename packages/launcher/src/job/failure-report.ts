import { printableLines } from '@ringrun/core';
import type { ErrorRecord } from '../worker/error-record.ts';
import { describeSignal, exitCodeOf } from './signal-words.ts';
import type { WorkerOutcome } from './worker.ts';

/** The workers of this node in one round, as reported if any of them failed. */
export interface FailedRun {
  host: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  workers: readonly WorkerRecord[];
  /** Processes of the cgroup that the OOM killer ended during the run; undefined if the count is not available. */
  oomKills: number | undefined;
}

/** How a worker ended, and the error that it recorded. */
export interface WorkerRecord {
  outcome: WorkerOutcome;
  error: ErrorRecord | undefined;
  /** The file with its stderr, if the console did not show it. */
  hiddenOutput?: string | undefined;
}

export interface FailureReport {
  /** Exit code of the root cause, 128 + its signal, or 1 if the process did not start. */
  exitCode: number;
  /** Lines of text. The last ones name the root cause and, for a syntax error, its location in the source. */
  text: string;
}

/** Codes of errors that the end of another process causes. The store ends with the launcher that serves it, the lease of
 * a node after other nodes were assigned its ranks. */
const consequences: ReadonlySet<string> = new Set(['ERR_PEER_DIED', 'ERR_STORE_LOST', 'ERR_LEASE_EXPIRED']);

const maxOthers = 8;
const maxStackLines = 16;

/** Reports which worker failed first and why, and how the others ended; undefined if no worker failed on its own. */
export function reportFailure(run: FailedRun): FailureReport | undefined {
  const root = findRootCause(run.workers);
  if (!root) return undefined;
  const others = run.workers.filter((worker) => worker !== root);
  const lines = [
    ...describeOthers(others),
    ...describeError(root),
    describeRoot(root, run),
    ...placeOf(root),
    ...hintOf(root),
  ];
  return {
    exitCode: wasExiting(root) || root.outcome.exitCode === 0 ? 1 : exitCodeOfWorker(root.outcome),
    text: `${printableLines(lines.join('\n'))}\n`,
  };
}

/**
 * The worker that failed first, by the time in its error record, or else by the time of its end.
 *
 * Two failures are consequences, and count only if no other worker failed: the loss of a peer, and an error after a
 * signal from the launcher. A worker that exited with 0, or by the launcher's signal, has not failed, unless its end is
 * the only explanation of the consequences: a peer may detect an error before the process that recorded it has exited.
 */
export function findRootCause(workers: readonly WorkerRecord[]): WorkerRecord | undefined {
  const first = workers
    .filter(({ outcome }) => failedByItself(outcome))
    .sort((a, b) => Number(isConsequence(a)) - Number(isConsequence(b)) || failedAt(a) - failedAt(b))
    .at(0);
  if (first === undefined || !isConsequence(first)) return first;
  const exiting = workers.filter(wasExiting).sort((a, b) => failedAt(a) - failedAt(b));
  return exiting.at(0) ?? workers.find((worker) => leftEarly(worker, first)) ?? first;
}

/**
 * Whether a worker exited with 0 while the others still needed it, as with `process.exit(0)` in one rank, so that
 * `first` reports the loss of a peer.
 */
function leftEarly({ outcome }: WorkerRecord, { error }: WorkerRecord): boolean {
  if (outcome.exitCode !== 0 || outcome.sentSignal !== undefined || outcome.pid === undefined) return false;
  return error?.code === 'ERR_PEER_DIED' && new RegExp(`\\bpid ${outcome.pid}\\b`).test(error.message);
}

/** Whether the launcher stopped a worker that had already recorded its own error. */
function wasExiting(worker: WorkerRecord): boolean {
  const { outcome, error } = worker;
  if (failedByItself(outcome) || outcome.sentSignal === undefined || error === undefined) return false;
  return error.time < outcome.sentSignal.at && !isConsequence(worker);
}

function failedByItself({ exitCode, signal, sentSignal, forced }: WorkerOutcome): boolean {
  if (exitCode === 0) return false;
  const diedOfIt = sentSignal !== undefined && signal !== null && (signal === sentSignal.signal || forced);
  const exitedOnIt = sentSignal !== undefined && exitCode === exitCodeOf(sentSignal.signal);
  return !diedOfIt && !exitedOnIt;
}

/** Whether another failure must have preceded this one. */
export function isConsequence(worker: WorkerRecord): boolean {
  const { outcome, error } = worker;
  if (consequences.has(error?.code ?? '')) return true;
  return (
    outcome.sentSignal !== undefined && outcome.signal === null && failedAt(worker) >= outcome.sentSignal.at
  );
}

/** Milliseconds since the epoch. */
export function failedAt({ outcome, error }: WorkerRecord): number {
  return error?.time ?? outcome.endedAt;
}

function exitCodeOfWorker({ exitCode, signal }: WorkerOutcome): number {
  return signal ? exitCodeOf(signal) : (exitCode ?? 1);
}

function describeRoot(root: WorkerRecord, { host, startedAt, oomKills }: FailedRun): string {
  const { rank, localRank, pid } = root.outcome;
  const process = pid === undefined ? '' : ` (pid ${pid}, local rank ${localRank})`;
  const seconds = (Math.max(0, failedAt(root) - startedAt) / 1000).toFixed(1);
  return `ringrun: root cause: rank ${rank} on host ${host}${process}, ${seconds} s after the start: ${describeEnd(root, oomKills)}`;
}

function placeOf({ outcome, error }: WorkerRecord): string[] {
  if (outcome.startError !== undefined || outcome.signal) return [];
  return (error?.place ?? []).map((line) => `  ${line}`);
}

/** How to run a script with module syntax in a package whose `type` is `commonjs`, which npm 11 writes. */
function hintOf({ error }: WorkerRecord): string[] {
  const stack = error?.stack ?? '';
  const isModule =
    /"cjs" output format|Cannot use import statement outside a module|await is only valid in/.test(stack);
  if (!isModule || /\.c[jt]s\b/.test(stack)) return [];
  return [
    'ringrun: the script is a module, but its package.json has "type": "commonjs". Run: npm pkg set type=module',
  ];
}

function describeEnd(worker: WorkerRecord, oomKills: number | undefined): string {
  const { outcome, error, hiddenOutput } = worker;
  const { exitCode, signal, startError } = outcome;
  if (startError !== undefined) return `could not be started: ${startError}`;
  if (error?.code === 'ERR_LEASE_EXPIRED') return headline(error);
  if (wasExiting(worker)) {
    return `${headline(error!)} (the launcher sent ${outcome.sentSignal!.signal} before the process had exited)`;
  }
  if (exitCode === 0)
    return 'exit code 0 while other ranks needed it (process.exit(0), or a script that ends before its last collective)';
  if (signal) return `killed by ${describeSignal(signal, oomKills)}`;
  return `exit code ${exitCode ?? 'unknown'}${error ? `, ${headline(error)}` : describeExitCode(exitCode, hiddenOutput)}`;
}

function describeExitCode(exitCode: number | null, hiddenOutput: string | undefined): string {
  if (exitCode === 13) return ' (Node: a top-level await never settled)';
  const where = hiddenOutput === undefined ? 'above' : `in ${hiddenOutput}`;
  return ` without an error record (process.exit was called, or see its output ${where})`;
}

function describeError({ outcome, error }: WorkerRecord): string[] {
  if (!error) return [];
  const stack = error.stack.split('\n');
  const cut = stack.length > maxStackLines ? [`… ${stack.length - maxStackLines} more lines`] : [];
  return [
    `ringrun: error of rank ${outcome.rank}:`,
    ...[...stack.slice(0, maxStackLines), ...cut].map((line) => `  ${line}`),
    ...(error.operation === undefined ? [] : [`  last operation: ${error.operation}`]),
  ];
}

/** Returns one line, such as `TypeError: x is not a function`. */
function headline({ stack, message }: ErrorRecord): string {
  const first = firstLine(message);
  // The stack of a syntax error starts with the location in the source.
  return stack.split('\n').find((line) => line.endsWith(first)) ?? first;
}

function describeOthers(others: readonly WorkerRecord[]): string[] {
  const ended = others.filter(({ outcome }) => outcome.exitCode !== 0);
  if (others.length === 0) return [];
  const lines = others.slice(0, maxOthers).map(describeOther);
  const more = others.length > maxOthers ? [`  and ${others.length - maxOthers} more ranks`] : [];
  return [
    `ringrun: ${ended.length} of ${others.length} other ranks ended as a consequence:`,
    ...lines,
    ...more,
  ];
}

function describeOther({ outcome, error }: WorkerRecord): string {
  const during = error?.operation === undefined ? '' : `, in ${error.operation}`;
  return `  rank ${outcome.rank} (pid ${outcome.pid ?? 'none'}) ${describeOtherEnd(outcome)}${error ? `: ${headline(error)}${during}` : ''}`;
}

function describeOtherEnd({ exitCode, signal, sentSignal, forced, startError }: WorkerOutcome): string {
  if (startError !== undefined) return `could not be started: ${startError}`;
  if (exitCode === 0) return 'finished with exit code 0';
  if (signal === 'SIGKILL' && forced)
    return `did not end on ${sentSignal!.signal} and was killed by the launcher`;
  if (signal)
    return signal === sentSignal?.signal ? `ended by ${signal} from the launcher` : `was killed by ${signal}`;
  return `exited with code ${exitCode ?? 'unknown'}${sentSignal ? ` after ${sentSignal.signal} from the launcher` : ''}`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0];
}
