// On the helper thread of a worker: reads the state and the stack of the main thread.
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import type { Debugger, Runtime } from 'node:inspector';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadNativeIfBuilt } from '@ringrun/native';
import type { Activity } from './rank-state.ts';

export interface MainThread {
  activity: Activity;
  operations: readonly string[];
  /** The stack in the form of `Error.stack`; empty if it cannot be read. */
  stack: string;
}

/** Milliseconds for an idle or computing thread to answer, and for a computing thread to be interrupted. */
const answerMs = 400;
const pauseMs = 100;
const captureMs = 250;
const lookEveryMs = 20;

/** Milliseconds that a runnable thread may wait for a processor on a busy machine. */
const maxMs = 1200;

/** Evaluated in the interrupted function, so that source maps apply and asynchronous callers are included. */
const readStack = `(() => {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  try { return new Error().stack; } finally { Error.stackTraceLimit = limit; }
})()`;

/** Interrupts the main thread, reads its stack, and lets it continue. */
export async function inspectMainThread(): Promise<MainThread> {
  const native = loadNativeIfBuilt();
  native?.requestStack(true);
  const { answered, stack } = await interrupt();
  const operations = native?.longWaits() ?? [];
  let captured: string | undefined;
  const isCaptured = () => (captured ??= native?.takeStack()) !== undefined;
  // A synchronous wait answers when it next polls, and the interruption may have happened in that poll.
  await until(isCaptured, operations.length > 0 && !(answered && stack === undefined) ? captureMs : 0);
  native?.requestStack(false);
  if (captured !== undefined) return { activity: 'waits', operations, stack: captured };
  const activity = stack !== undefined ? 'runs' : answered ? 'idle' : 'blocked';
  return { activity, operations, stack: stack ?? '' };
}

/** The stack if the main thread runs JavaScript; `answered` is false if it runs native code. */
async function interrupt(): Promise<{ answered: boolean; stack: string | undefined }> {
  const session = new Session();
  session.connectToMainThread();
  const found: { answered: boolean; stack: string | undefined } = { answered: false, stack: undefined };
  try {
    session.once('Debugger.paused', ({ params }: { params: Debugger.PausedEventDataType }) => {
      const callFrameId = params.callFrames[0].callFrameId;
      const onStack = (_: Error | null, value?: { result: Runtime.RemoteObject }) => {
        found.stack = String(value?.result.value ?? '');
      };
      session.post('Debugger.evaluateOnCallFrame', { callFrameId, expression: readStack }, onStack);
      session.post('Debugger.resume');
    });
    session.post('Debugger.enable', () => (found.answered = true));
    session.post('Debugger.pause');
    await until(() => found.answered, answerMs, maxMs);
    if (found.answered) await until(() => found.stack !== undefined, pauseMs, answerMs);
    return found;
  } finally {
    // Also cancels the request to pause.
    session.disconnect();
  }
}

/** Waits for `withinMs`, and up to `maxMs` while the main thread does not sleep. */
async function until(isTrue: () => boolean, withinMs: number, maxMs = withinMs): Promise<void> {
  const startedAt = performance.now();
  while (!isTrue()) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs >= (waitedMs < maxMs && isRunnable() ? maxMs : withinMs)) return;
    await sleep(lookEveryMs);
  }
}

/** Whether the main thread is running or runnable. */
function isRunnable(): boolean {
  try {
    const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, 'latin1');
    return stat.startsWith('R', stat.lastIndexOf(')') + 2);
  } catch {
    return false;
  }
}
