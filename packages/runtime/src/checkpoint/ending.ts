import { isMainThread } from 'node:worker_threads';
import { ownSavingMark, removeMark, setMark } from './saving-mark.ts';

/*
 * A process that ends while a checkpoint is being written finishes it first, for as long as the grace period: after process.exit, after an uncaught error (such as the death of a peer), and after
 * a signal that the program does not handle itself. The thread that writes needs no event loop but its own, so the main thread may block.
 */

/** A write that is under way in a thread. */
export interface BackgroundWrite {
  /** Such as `the checkpoint of step 5`, and where it goes. */
  readonly what: string;
  /** Blocks until it is over, for so many milliseconds at most. */
  finishSync(withinMs: number): WriteEnd;
}

export type WriteEnd = { kind: 'written' | 'unfinished' } | { kind: 'failed'; reason: string };

/** What `kill`, Ctrl-C and the end of a terminal send. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const defaultGraceMs = 30_000;

/** Milliseconds after which waiting is reported. */
const quietMs = 500;

const underWay = new Set<BackgroundWrite>();
/** Saves that were called and have not copied their state yet. */
const begun = new Set<{ readonly what: string }>();
let deadline: number | undefined;

/** Until the returned function is called, the process does not end without the write. */
export function holdForWrite(write: BackgroundWrite): () => void {
  const release = hold(underWay, write);
  setMark(ownSavingMark(process.env));
  return () => {
    release();
    if (underWay.size === 0) removeMark(ownSavingMark(process.env));
  };
}

/** Until the returned function is called, the end of the process is the loss of this save, which is reported. */
export function holdForSave(what: string): () => void {
  return hold(begun, { what });
}

function hold<T>(set: Set<T>, held: T): () => void {
  if (underWay.size + begun.size === 0) listen();
  set.add(held);
  return () => {
    set.delete(held);
    if (underWay.size + begun.size === 0) ignore();
  };
}

function listen(): void {
  process.on('exit', onExit);
  // Threads get no signals.
  if (isMainThread) for (const signal of signals) process.on(signal, onSignal);
}

function ignore(): void {
  process.off('exit', onExit);
  for (const signal of signals) process.off(signal, onSignal);
}

function onExit(code: number): void {
  const isComplete = finishAll();
  for (const { what } of code === 0 ? begun : [])
    say(
      `the process exits, and ${what} has not copied its state: nothing of it is saved. Await save() before process.exit().`,
    );
  if (code === 0 && (!isComplete || begun.size > 0)) process.exitCode = 1;
}

function onSignal(signal: NodeJS.Signals): void {
  // A program with a handler of its own says itself how it ends.
  if (process.listenerCount(signal) > 1) return;
  // A save that has not copied its state yet is lost as if it had not been called.
  finishAll(() => {
    // From now on a second signal ends the process at once.
    ignore();
  });
  ignore();
  process.kill(process.pid, signal);
}

/** Whether all writes are complete. */
function finishAll(onPatience: () => void = () => undefined): boolean {
  deadline ??= performance.now() + graceMs(process.env);
  let isComplete = true;
  for (const write of underWay) {
    const end = finish(write, deadline - performance.now(), onPatience);
    if (end.kind === 'written') continue;
    isComplete = false;
    const reason =
      end.kind === 'failed'
        ? end.reason
        : `it was not finished within ${formatSeconds(graceMs(process.env))}, the grace period`;
    say(`${write.what} is lost: ${reason}. Those before it are as they were.`);
  }
  underWay.clear();
  removeMark(ownSavingMark(process.env));
  return isComplete;
}

function finish(write: BackgroundWrite, withinMs: number, onPatience: () => void): WriteEnd {
  const early = write.finishSync(Math.min(quietMs, Math.max(withinMs, 0)));
  if (early.kind !== 'unfinished' || withinMs <= quietMs) return early;
  onPatience();
  say(`the process ends when ${write.what} is written, in ${formatSeconds(withinMs)} at the latest.`);
  return write.finishSync(withinMs - quietMs);
}

/** The launcher's grace period, less what it takes to say how it went. */
function graceMs(env: NodeJS.ProcessEnv): number {
  const seconds = Number(env['RINGRUN_GRACE'] || NaN);
  const ms = seconds >= 0 ? seconds * 1000 : defaultGraceMs;
  return ms - Math.min(1000, ms / 4);
}

function formatSeconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

function say(line: string): void {
  process.stderr.write(`ringrun: ${line}\n`);
}
