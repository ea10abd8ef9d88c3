import { printable } from '@ringrun/core';

/** State of the main thread of a rank's process. */
export type Activity =
  /** Runs JavaScript. */
  | 'runs'
  /** Its event loop waits: no JavaScript runs, so there is no stack. */
  | 'idle'
  /** Waits in a synchronous operation of a group. */
  | 'waits'
  /** Failed in an operation; the stack is the one of its error. */
  | 'failed'
  /** Runs native code, which cannot be interrupted. */
  | 'blocked'
  /** Stopped by a signal, as with SIGSTOP. */
  | 'stopped'
  /** Does not answer. */
  | 'silent';

/** The state of one rank. */
export interface RankState {
  rank: number;
  pid: number;
  activity: Activity;
  /** The operations in which it waits, such as `allReduce #41 (float32, 1,048,576 elements, SUM)`. */
  operations: readonly string[];
  /** Frames of the JavaScript stack, such as `at train (file:///job/train.js:12:3)`. */
  stack: readonly string[];
  /** RINGRUN_RUN_ID; empty for a process that does not answer. */
  runId: string;
}

/** Maximum numbers of frames, operations and characters kept for a rank. */
const maxFrames = 30;
const maxOperations = 8;
const maxCharacters = 300;

/** Maximum bytes of an answer. */
export const maxAnswerBytes = 64 * 1024;

/** Checks the answer of another process. Its text is escaped, so that it cannot control a terminal. */
export function parseState(answer: string): RankState | undefined {
  try {
    return checkState(JSON.parse(answer));
  } catch {
    return undefined;
  }
}

/** `parseState` of a parsed answer. */
export function checkState(answer: unknown): RankState | undefined {
  const { rank, pid, activity, operations, stack, runId } = Object(answer) as Record<string, unknown>;
  if (typeof rank !== 'number' || typeof pid !== 'number' || !isActivity(activity)) return undefined;
  return {
    rank,
    pid,
    activity,
    operations: texts(operations, maxOperations),
    stack: texts(stack, maxFrames),
    runId: typeof runId === 'string' ? runId : '',
  };
}

function texts(list: unknown, max: number): string[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, max).map((one) => printable(String(one), maxCharacters));
}

const descriptions: Readonly<Record<Activity, string>> = {
  runs: 'runs JavaScript',
  idle: 'is idle: its event loop waits',
  waits: 'waits',
  failed: 'waited',
  blocked: 'is blocked in native code',
  stopped: 'is stopped by a signal',
  silent: 'does not answer',
};

const isActivity = (value: unknown): value is Activity =>
  typeof value === 'string' && Object.hasOwn(descriptions, value);

/** Describes ranks in the order of their numbers, one line for each and one for each frame of its stack. */
export function describeStates(states: readonly RankState[], missingPids: ReadonlySet<number>): string {
  return states
    .toSorted((a, b) => a.rank - b.rank || a.pid - b.pid)
    .map((state) => describeState(state, missingPids.has(state.pid)))
    .join('');
}

function describeState({ rank, pid, activity, operations, stack }: RankState, isMissing: boolean): string {
  const where = operations.length > 0 ? ` in ${operations.join(' and ')}` : '';
  const doing = activity === 'idle' && operations.length > 0 ? 'waits' : descriptions[activity];
  const also = activity === 'runs' && where !== '' ? `; waits${where}` : where;
  const lines = [`  rank ${rank} (pid ${pid}${isMissing ? ', missing' : ''}) ${doing}${also}`];
  for (const frame of stack) lines.push(`    ${frame}`);
  return `${lines.join('\n')}\n`;
}

/** The frames of an error's stack, without those of Node and ringrun if any others exist. */
export function framesOf(stack: string, ownFolders: readonly string[]): string[] {
  const frames = stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at ') && !/\bnode:internal\/|\(eval at |^at eval /.test(line));
  const foreign = frames.filter((frame) => !ownFolders.some((folder) => frame.includes(folder)));
  return (foreign.length > 0 ? foreign : frames).slice(0, maxFrames);
}
