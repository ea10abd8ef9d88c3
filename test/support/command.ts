import type { RunningProcess } from './processes.ts';
import { start } from './start.ts';

/** How a command ended, recorded after every process that could write to its output had ended. */
export interface Ended {
  /** Null after a signal. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Whether it exceeded its time limit and was killed with all its descendants. */
  timedOut: boolean;
  /** Processes that it left running. */
  left: number[];
}

export interface Command {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Resolves with the first match in the output; rejects if the command ends without one. */
  sees(pattern: RegExp): Promise<RegExpExecArray>;
  /** The running processes of the command and its descendants. */
  processes(): RunningProcess[];
}

export interface CommandOptions {
  /** Added to the environment of the tests; see `environmentWith`. */
  env?: Readonly<Record<string, string | number>>;
  /** Default: the root of the repository. */
  cwd?: string;
  /** Milliseconds until it is killed. Default: 50,000. */
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
