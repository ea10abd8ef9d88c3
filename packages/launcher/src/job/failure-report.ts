import { printableLines } from '@ringrun/core';
import type { ErrorRecord } from '../worker/error-record.ts';
import { unsettledAwait } from '../worker/exit-record.ts';
import type { ExitRecord } from '../worker/exit-record.ts';
import { failedAt, wasExiting } from './find-root-cause.ts';
import type { WorkerRecord } from './find-root-cause.ts';
import { describeSignal, exitCodeOf } from './signal-words.ts';
import type { WorkerOutcome } from './worker.ts';

/** The workers of this node in one round, as reported if any of them failed. */
export interface FailedRun {
  host: string;
  /** On the clock of `hostTime`. */
  startedAt: number;
  workers: readonly WorkerRecord[];
  /** Processes of the cgroup that the OOM killer ended during the run; undefined if the count is not available. */
  oomKills: number | undefined;
}

export interface FailureReport {
  /** Exit code of the root cause, 128 + its signal, or 1 if the process did not start. */
  exitCode: number;
  /** Lines of text. The last ones name the root cause and, for a syntax error, its location in the source. */
  text: string;
}

const maxOthers = 8;
const maxStackLines = 16;

/** Reports why the worker `root` failed, and how the others ended. */
export function reportFailure(run: FailedRun, root: WorkerRecord): FailureReport {
  const others = run.workers.filter((worker) => worker !== root);
  const lines = [
    ...describeOthers(root, others),
    ...describeError(root),
    describeRoot(root, others, run),
    ...placeOf(root),
    ...hintOf(root),
  ];
  return {
    exitCode: exitCodeOfRoot(root),
    text: `${printableLines(lines.join('\n'))}\n`,
  };
}

/** 1 for a worker that exited with 0. */
function exitCodeOfRoot(root: WorkerRecord): number {
  const { exitCode, signal } = root.outcome;
  if (wasExiting(root)) return (root.error === undefined && root.exit?.exitCode) || 1;
  return signal ? exitCodeOf(signal) : exitCode || 1;
}

function describeRoot(
  root: WorkerRecord,
  others: readonly WorkerRecord[],
  { host, startedAt, oomKills }: FailedRun,
): string {
  const { rank, localRank, pid } = root.outcome;
  const process = pid === undefined ? '' : ` (pid ${pid}, local rank ${localRank})`;
  const seconds = (Math.max(0, failedAt(root) - startedAt) / 1000).toFixed(1);
  return `ringrun: root cause: rank ${rank} on host ${host}${process}, ${seconds} s after the start: ${describeEnd(root, others, oomKills)}`;
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

function describeEnd(
  worker: WorkerRecord,
  others: readonly WorkerRecord[],
  oomKills: number | undefined,
): string {
  const { outcome, error, exit } = worker;
  const { exitCode, signal, startError } = outcome;
  if (startError !== undefined) return `could not be started: ${startError}`;
  if (error?.code === 'ERR_LEASE_EXPIRED') return headline(error);
  if (wasExiting(worker)) {
    const what = error === undefined ? describeExit(exit?.exitCode ?? null, worker, others) : headline(error);
    return `${what} (the launcher sent ${outcome.sentSignal!.signal} before the process had exited)`;
  }
  if (signal) return `killed by ${describeSignal(signal, oomKills)}`;
  return describeExit(exitCode, worker, others);
}

function describeExit(
  exitCode: number | null,
  { error, exit, hiddenOutput }: WorkerRecord,
  others: readonly WorkerRecord[],
): string {
  if (exitCode === 0) return describeEarlyEnd(exit, others);
  return `exit code ${exitCode ?? 'unknown'}${error ? `, ${headline(error)}` : describeExitCode(exitCode, exit, hiddenOutput)}`;
}

function describeEarlyEnd(exit: ExitRecord | undefined, others: readonly WorkerRecord[]): string {
  const waiting = others.find((other) => errorOf(other)?.operation !== undefined);
  if (exit === undefined && waiting === undefined)
    return 'exit code 0 while other ranks waited for it to join. Call initProcessGroup() on every rank';
  const where =
    waiting === undefined ? '' : `: rank ${waiting.outcome.rank} was in ${errorOf(waiting)!.operation}`;
  const how =
    exit?.caller === undefined
      ? 'process.exit(0), or a script that ends before its last collective'
      : `process.exit(0) at ${exit.caller}`;
  return exit?.wasRank === false
    ? `exit code 0 after destroyProcessGroup() while other ranks needed it${where}. Call it on every rank after the last operation`
    : `exit code 0 while other ranks needed it (${how})${where}. Await destroyProcessGroup() on every rank before its process exits`;
}

function describeCaller(exit: ExitRecord | undefined): string {
  return exit?.caller === undefined ? '' : ` (process.exit was called at ${exit.caller})`;
}

function describeExitCode(
  exitCode: number | null,
  exit: ExitRecord | undefined,
  hiddenOutput: string | undefined,
): string {
  const where = hiddenOutput === undefined ? 'above' : `in ${hiddenOutput}`;
  if (exitCode === unsettledAwait) return ' (Node: a top-level await never settled)';
  const failure = exit?.failure === undefined ? '' : ` after ${headline(exit.failure)}`;
  const output = hiddenOutput === undefined ? '' : `; see its output ${where}`;
  if (exit?.caller !== undefined) return `${failure} without an error record${describeCaller(exit)}${output}`;
  return `${failure} without an error record (process.exit was called, or see its output ${where})`;
}

function describeError(worker: WorkerRecord): string[] {
  const { outcome } = worker;
  const error = errorOf(worker);
  if (!error) return [];
  const stack = error.stack.split('\n');
  const cut = stack.length > maxStackLines ? [`… ${stack.length - maxStackLines} more lines`] : [];
  return [
    `ringrun: error of rank ${outcome.rank}:`,
    ...[...stack.slice(0, maxStackLines), ...cut].map((line) => `  ${line}`),
    ...(error.operation === undefined ? [] : [`  last operation: ${error.operation}`]),
  ];
}

/** The uncaught error of a worker, or the failure of its group that the program had caught. */
function errorOf({ error, exit }: WorkerRecord): ErrorRecord | undefined {
  return error ?? exit?.failure;
}

/** Returns one line, such as `TypeError: x is not a function`. */
function headline({ stack, message }: ErrorRecord): string {
  const first = firstLine(message);
  // The stack of a syntax error starts with the location in the source.
  return stack.split('\n').find((line) => line.endsWith(first)) ?? first;
}

function describeOthers(root: WorkerRecord, others: readonly WorkerRecord[]): string[] {
  if (others.length === 0) return [];
  const consequences = others.filter((one) => one.outcome.exitCode !== 0 && relationTo(root, one) === '');
  const lines = others.slice(0, maxOthers).map((one) => `${describeOther(one)}${relationTo(root, one)}`);
  const more = others.length > maxOthers ? [`  and ${others.length - maxOthers} more ranks`] : [];
  return [
    `ringrun: ${consequences.length} of ${others.length} other ranks ended as a consequence:`,
    ...lines,
    ...more,
  ];
}

/** Why the end of another worker is no consequence of the root cause; empty if it may be one. */
function relationTo(root: WorkerRecord, { error, isOutlived }: WorkerRecord): string {
  if (isOutlived === true && root.isOutlived !== true) return '; the job continued without it';
  const isEqual = error !== undefined && root.error !== undefined && headline(error) === headline(root.error);
  return isEqual && error.blames === undefined ? '; the same error' : '';
}

function describeOther(worker: WorkerRecord): string {
  const { outcome } = worker;
  const error = errorOf(worker);
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
