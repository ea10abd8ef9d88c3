import type { ErrorRecord } from '../errors/error-record.ts';
import { describeSignal, exitCodeOf } from './signal-words.ts';
import type { WorkerOutcome } from './worker.ts';

/** A run that did not end well. */
export interface FailedRun {
  host: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  workers: readonly WorkerRecord[];
  /** Processes of the cgroup that the kernel killed during the run because memory ran out; undefined where nothing tells. */
  oomKills: number | undefined;
}

/** How a worker ended, and what it wrote about it. */
export interface WorkerRecord {
  outcome: WorkerOutcome;
  error: ErrorRecord | undefined;
  /** The file in which its stderr is, where the console did not show it. */
  hiddenOutput?: string | undefined;
}

export interface FailureReport {
  /** The root cause's own, 128 + its signal, or 1 when it could not be started. */
  exitCode: number;
  /** Lines of text; the last ones name the root cause, and its place in the source if it is one of syntax. */
  text: string;
}

/** Codes of errors that the end of another process causes. The store ends with the launcher that hosts it. */
const consequences: ReadonlySet<string> = new Set(['ERR_PEER_DIED', 'ERR_STORE_LOST']);

const mostOthers = 8;
const mostStackLines = 16;

/** Says which worker failed first and why, and how the others ended; undefined when none failed by itself. */
export function reportFailure(run: FailedRun): FailureReport | undefined {
  const root = findRootCause(run.workers);
  if (!root) return undefined;
  const others = run.workers.filter((worker) => worker !== root);
  const lines = [
    ...describeOthers(others),
    ...describeError(root),
    describeRoot(root, run),
    ...placeOf(root),
  ];
  return { exitCode: exitCodeOfWorker(root.outcome), text: `${lines.join('\n')}\n` };
}

/**
 * The worker that failed first: by the time in its error record, or else when it ended.
 *
 * A worker that lost a peer is a consequence, and so is one that ended badly after the launcher had told it to end: they count only
 * where nobody else failed. A worker that ended well, or just as it was told to, has not failed.
 */
export function findRootCause(workers: readonly WorkerRecord[]): WorkerRecord | undefined {
  return workers
    .filter(({ outcome }) => failedByItself(outcome))
    .sort((a, b) => Number(isConsequence(a)) - Number(isConsequence(b)) || failedAt(a) - failedAt(b))[0];
}

function failedByItself({ exitCode, signal, told, forced }: WorkerOutcome): boolean {
  if (exitCode === 0) return false;
  const diedAsTold = told !== undefined && signal !== null && (signal === told.signal || forced);
  const exitedAsTold = told !== undefined && exitCode === exitCodeOf(told.signal);
  return !diedAsTold && !exitedAsTold;
}

/** Whether another failure must have come before it. */
export function isConsequence(worker: WorkerRecord): boolean {
  const { outcome, error } = worker;
  if (consequences.has(error?.code ?? '')) return true;
  return outcome.told !== undefined && outcome.signal === null && failedAt(worker) >= outcome.told.at;
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

function describeEnd({ outcome, error, hiddenOutput }: WorkerRecord, oomKills: number | undefined): string {
  const { exitCode, signal, startError } = outcome;
  if (startError !== undefined) return `could not be started: ${startError}`;
  if (signal) return `killed by ${describeSignal(signal, oomKills)}`;
  return `exit code ${exitCode ?? 'unknown'}${error ? `, ${headline(error)}` : describeExitCode(exitCode, hiddenOutput)}`;
}

function describeExitCode(exitCode: number | null, hiddenOutput: string | undefined): string {
  if (exitCode === 13) return ' (Node: a top-level await never settled)';
  const where = hiddenOutput === undefined ? 'above' : `in ${hiddenOutput}`;
  return ` and left no record of an error (process.exit, or its own output ${where} tells)`;
}

function describeError({ outcome, error }: WorkerRecord): string[] {
  if (!error) return [];
  const stack = error.stack.split('\n');
  const cut = stack.length > mostStackLines ? [`… ${stack.length - mostStackLines} lines more`] : [];
  return [
    `ringrun: the error of rank ${outcome.rank}:`,
    ...[...stack.slice(0, mostStackLines), ...cut].map((line) => `  ${line}`),
    ...(error.operation === undefined ? [] : [`  last operation: ${error.operation}`]),
  ];
}

/** `TypeError: x is not a function`, on one line. */
function headline({ stack, message }: ErrorRecord): string {
  const first = firstLine(message);
  // A syntax error's stack begins with the place in the source.
  return stack.split('\n').find((line) => line.endsWith(first)) ?? first;
}

function describeOthers(others: readonly WorkerRecord[]): string[] {
  const ended = others.filter(({ outcome }) => outcome.exitCode !== 0);
  if (others.length === 0) return [];
  const lines = others.slice(0, mostOthers).map(describeOther);
  const more = others.length > mostOthers ? [`  and ${others.length - mostOthers} ranks more`] : [];
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

function describeOtherEnd({ exitCode, signal, told, forced, startError }: WorkerOutcome): string {
  if (startError !== undefined) return `could not be started: ${startError}`;
  if (exitCode === 0) return 'finished with exit code 0';
  if (signal === 'SIGKILL' && forced) return `did not end on ${told!.signal} and was killed by the launcher`;
  if (signal)
    return signal === told?.signal ? `ended by ${signal} from the launcher` : `was killed by ${signal}`;
  return `exited with code ${exitCode ?? 'unknown'}${told ? ` after ${told.signal} from the launcher` : ''}`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0];
}
