import type { RunningProcess } from './processes.ts';
import { start } from './start.ts';

/** How a command ended: when every process that could write to its output had ended. */
export interface Ended {
  /** Null when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Whether it took longer than its limit and was killed, with everything that it had started. */
  timedOut: boolean;
  /** Processes that it left running. */
  left: number[];
}

export interface Command {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Resolves with the match when it is in the output; rejects when the command ends without it. */
  sees(pattern: RegExp): Promise<RegExpExecArray>;
  /** The command itself and everything that it started, now. */
  processes(): RunningProcess[];
}

export interface CommandOptions {
  /** Added to the environment of the tests; see `environmentWith`. */
  env?: Readonly<Record<string, string | number>>;
  /** The root of the repository unless given. */
  cwd?: string;
  /** Milliseconds until it is killed; 50,000 unless given. */
  limitMs?: number;
}

/** Starts `node launch` with these arguments. */
export function launch(args: readonly string[], options: CommandOptions = {}): Command {
  return start(process.execPath, ['launch', ...args], options);
}

/** Starts `node` with these arguments. */
export function node(args: readonly string[], options: CommandOptions = {}): Command {
  return start(process.execPath, args, options);
}
