import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Writable } from 'node:stream';
import { openFilesProblem } from '@ringrun/core';
import { Guard } from './guard.ts';
import type { WorkerOutput } from '../logs/worker-output.ts';
import {
  launcherPipeDescriptor,
  launcherPipeValue,
  launcherPipeVariable,
  leaseMessage,
} from '../worker/launcher-pipe.ts';
import { hostTime } from '../worker/host-time.ts';
import { processGroupIsLeft, processState, signalProcessGroup } from './posix-process-group.ts';

/** The settings with which one worker is started. */
export interface WorkerPlan {
  rank: number;
  localRank: number;
  /** Path of Node.js, or of any other program. */
  command: string;
  arguments: readonly string[];
  /** A Node.js script ends by itself when the launcher ends; another program is stopped by a guard process. */
  kind: 'script' | 'program';
  environment: NodeJS.ProcessEnv;
  output: WorkerOutput;
  /** A file that exists while the worker is writing a checkpoint; undefined without temporary files. */
  savingMark?: string | undefined;
  /** Milliseconds after which a script starts its helper thread. Default: 0. */
  stackThreadAfterMs?: number;
}

/** How a worker ended. */
export interface WorkerOutcome {
  rank: number;
  localRank: number;
  /** Host name of this machine. */
  host: string;
  /** Undefined if the process did not start. */
  pid: number | undefined;
  /** Null if a signal ended the process. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Why the process did not start. */
  startError: string | undefined;
  /** The first signal from the launcher, and its time on the clock of `hostTime`. */
  sentSignal: { signal: NodeJS.Signals; at: number } | undefined;
  /** Whether the launcher sent SIGKILL. */
  forced: boolean;
  /** On the clock of `hostTime`. */
  endedAt: number;
  /** The file of its error record; undefined without temporary files. */
  errorFile: string | undefined;
}

/** A worker as its agent sees it. */
export type SupervisedWorker = { readonly [Member in keyof Worker]: Worker[Member] };

/**
 * One training process. It leads its own process group and session, so that a signal reaches all its child processes.
 *
 * Its stdin is empty, unlike under torchrun: with a shared terminal, a random worker would receive each line.
 */
export class Worker {
  readonly rank: number;
  readonly pid: number | undefined;
  /** Resolves when the process itself has ended; its child processes may still run. Never rejects. */
  readonly ended: Promise<WorkerOutcome>;
  #sentSignal: WorkerOutcome['sentSignal'];
  #forced = false;
  #hasEnded = false;
  readonly #guard: Guard | undefined;
  /** The launcher's end of the pipe of a script. */
  readonly #pipe: Writable | undefined;
  readonly #savingMark: string | undefined;

  constructor(plan: WorkerPlan) {
    this.#savingMark = plan.savingMark;
    const { rank, localRank } = plan;
    this.rank = rank;
    this.#guard = plan.kind === 'program' ? new Guard(rank) : undefined;
    const child = this.#guard ? startProgram(plan, this.#guard) : startScript(plan);
    if (child.pid !== undefined) {
      const pipe = child.stdio[launcherPipeDescriptor];
      // The pipe may be reset when the worker dies.
      pipe?.on('error', () => undefined);
      if (!this.#guard) this.#pipe = pipe as Writable;
    }
    this.pid = child.pid;
    this.ended = outcomeOf(child).then((outcome) => {
      this.#hasEnded = true;
      return {
        rank,
        localRank,
        host: hostname(),
        pid: child.pid,
        sentSignal: this.#sentSignal,
        forced: this.#forced,
        endedAt: hostTime(),
        errorFile: plan.environment['RINGRUN_ERROR_FILE'],
        ...outcome,
      };
    });
  }

  /** Sends `signal` to the worker and to its child processes that did not leave its process group. */
  signalGroup(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    if (!this.#hasEnded) {
      this.#sentSignal ??= { signal, at: hostTime() };
      this.#forced ||= signal === 'SIGKILL';
    }
    signalProcessGroup(this.pid, signal);
  }

  /** The worker and its child processes are killed if this is not called again within `withinMs`. */
  mustRenewWithin(withinMs: number): void {
    if (this.#hasEnded) return;
    if (this.#guard) this.#guard.mustRenewWithin(withinMs);
    else this.#pipe?.write(leaseMessage(withinMs));
  }

  /** Whether the process has ended, even if `ended` has not resolved yet. */
  hasDied(): boolean {
    return this.#hasEnded || this.pid === undefined || processState(this.pid) === 'Z';
  }

  /** Whether the process was stopped by a signal, such as SIGSTOP. */
  isStopped(): boolean {
    return !this.#hasEnded && this.pid !== undefined && processState(this.pid) === 'T';
  }

  /** Whether the worker is writing a checkpoint. */
  isSaving(): boolean {
    return this.#savingMark !== undefined && existsSync(this.#savingMark);
  }

  /** Stops the guard. Call after the process group has ended. */
  async release(): Promise<void> {
    await this.#guard?.release();
  }

  /** Whether any process of its group still runs. */
  groupIsLeft(): boolean {
    return this.pid !== undefined && processGroupIsLeft(this.pid);
  }
}

/** Passes the descriptor of the pipe that closes when the launcher ends. */
function startScript(plan: WorkerPlan): ChildProcess {
  const { command, arguments: args, environment, output, stackThreadAfterMs = 0 } = plan;
  return spawn(command, args, {
    env: { ...environment, [launcherPipeVariable]: launcherPipeValue(process.pid, stackThreadAfterMs) },
    detached: true,
    stdio: ['ignore', output.stdout, output.stderr, 'pipe'],
  });
}

function startProgram(
  { command, arguments: args, environment, output }: WorkerPlan,
  guard: Guard,
): ChildProcess {
  return spawn(...Guard.watching(command, args), {
    env: environment,
    detached: true,
    stdio: ['ignore', output.stdout, output.stderr, guard.registration],
  });
}

type ChildEnd = Pick<WorkerOutcome, 'exitCode' | 'signal' | 'startError'>;

function outcomeOf(child: ChildProcess): Promise<ChildEnd> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => {
      resolve({ exitCode, signal, startError: undefined });
    });
    child.once('error', (error) => {
      if (child.pid === undefined) {
        resolve({ exitCode: null, signal: null, startError: openFilesProblem(error) ?? error.message });
      }
    });
  });
}
