import { isMainThread } from 'node:worker_threads';
import { ownSavingMark, removeMark, setMark } from '@ringrun/launcher';
import { log } from './log.ts';

/*
 * A process that ends during the write of a checkpoint completes it first, for at most the grace period:
 * after process.exit, after an uncaught error (such as the death of a peer), and after a signal that the
 * program does not handle. The main thread may block, because the writer thread has its own event loop.
 */

/** A write in progress in a thread. */
export interface BackgroundWrite {
  /** Such as `the checkpoint of step 5 for /data`. */
  readonly what: string;
  /** Blocks until the write is complete, for at most `withinMs` milliseconds. */
  finishSync(withinMs: number): WriteOutcome;
}

export type WriteOutcome = { kind: 'written' | 'unfinished' } | { kind: 'failed'; reason: string };

/** The signals sent by `kill`, Ctrl-C and a closed terminal. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const defaultGraceMs = 30_000;

/** Milliseconds after which waiting is logged. */
const logAfterMs = 500;

const writesInProgress = new Set<BackgroundWrite>();
/** Saves that have not copied their state yet. */
const uncopiedSaves = new Set<{ readonly what: string }>();
let deadline: number | undefined;

/** Makes the end of the process wait for the write, until the returned function is called. */
export function finishWriteBeforeExit(write: BackgroundWrite): () => void {
  const release = track(writesInProgress, write);
  setMark(ownSavingMark(process.env));
  return () => {
    release();
    if (writesInProgress.size === 0) removeMark(ownSavingMark(process.env));
  };
}

/** Reports the save as lost if the process ends before the returned function is called. */
export function reportLostSave(what: string): () => void {
  return track(uncopiedSaves, { what });
}

function track<T>(set: Set<T>, tracked: T): () => void {
  if (writesInProgress.size + uncopiedSaves.size === 0) addListeners();
  set.add(tracked);
  return () => {
    set.delete(tracked);
    if (writesInProgress.size + uncopiedSaves.size === 0) removeListeners();
  };
}

function addListeners(): void {
  process.on('exit', onExit);
  // Worker threads do not receive signals.
  if (isMainThread) for (const signal of signals) process.on(signal, onSignal);
}

function removeListeners(): void {
  process.off('exit', onExit);
  for (const signal of signals) process.off(signal, onSignal);
}

function onExit(code: number): void {
  const isComplete = finishAll();
  for (const { what } of code === 0 ? uncopiedSaves : [])
    log(`${what} is lost: the process exits before its state is copied. Await save() before process.exit().`);
  if (code === 0 && (!isComplete || uncopiedSaves.size > 0)) process.exitCode = 1;
}

function onSignal(signal: NodeJS.Signals): void {
  // A program with its own handler decides how to end.
  if (process.listenerCount(signal) > 1) return;
  // A save that has not copied its state yet is lost without a message: the signal could have arrived before
  // its call.
  finishAll(() => {
    // A second signal now ends the process at once.
    removeListeners();
  });
  removeListeners();
  process.kill(process.pid, signal);
}

/** Completes all writes within the grace period. Returns whether all are complete. */
function finishAll(onSlowWrite: () => void = () => undefined): boolean {
  deadline ??= performance.now() + graceMs(process.env);
  let isComplete = true;
  for (const write of writesInProgress) {
    const end = finish(write, deadline - performance.now(), onSlowWrite);
    if (end.kind === 'written') continue;
    isComplete = false;
    const reason =
      end.kind === 'failed'
        ? end.reason
        : `it was not complete within the grace period of ${formatSeconds(graceMs(process.env))}`;
    log(`${write.what} is lost: ${reason}. Earlier checkpoints are intact.`);
  }
  writesInProgress.clear();
  removeMark(ownSavingMark(process.env));
  return isComplete;
}

function finish(write: BackgroundWrite, withinMs: number, onSlowWrite: () => void): WriteOutcome {
  const early = write.finishSync(Math.min(logAfterMs, Math.max(withinMs, 0)));
  if (early.kind !== 'unfinished' || withinMs <= logAfterMs) return early;
  onSlowWrite();
  log(
    `waiting for ${write.what} to be written before the process ends, for at most ${formatSeconds(withinMs)}.`,
  );
  return write.finishSync(withinMs - logAfterMs);
}

/** The launcher's grace period, less the time to report the outcome. */
function graceMs(env: NodeJS.ProcessEnv): number {
  const seconds = Number(env['RINGRUN_GRACE'] || NaN);
  const ms = seconds >= 0 ? seconds * 1000 : defaultGraceMs;
  return ms - Math.min(1000, ms / 4);
}

function formatSeconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
