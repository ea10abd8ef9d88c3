import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Guard } from './guard.ts';
import { launcherPipeDescriptor, launcherPipeVariable } from './preload/launcher-pipe.ts';
import { processGroupIsLeft, signalProcessGroup } from './process-group.ts';

/** What one worker is started with. */
export interface WorkerPlan {
  rank: number;
  localRank: number;
  /** The program that is started: Node, or any. */
  command: string;
  arguments: readonly string[];
  /** A script of Node ends by itself when the launcher is gone; beside another program a process sees to that. */
  kind: 'script' | 'program';
  environment: NodeJS.ProcessEnv;
  output: WorkerOutput;
  /** A file that exists while the worker is writing a checkpoint; undefined where it cannot tell. */
  savingMark?: string | undefined;
}

/** Where each stream goes: to the launcher's own, nowhere, or to an open file, by its descriptor. */
export interface WorkerOutput {
  stdout: 'inherit' | 'ignore' | number;
  stderr: 'inherit' | 'ignore' | number;
}

/** How a worker ended. */
export interface WorkerOutcome {
  rank: number;
  localRank: number;
  /** Undefined when it could not be started. */
  pid: number | undefined;
  /** Null when a signal ended it. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Why it could not be started. */
  startError: string | undefined;
  /** The first signal that the launcher sent it, and when, in milliseconds since the epoch. */
  told: { signal: NodeJS.Signals; at: number } | undefined;
  /** Whether the launcher sent it SIGKILL. */
  forced: boolean;
  /** Milliseconds since the epoch. */
  endedAt: number;
}

/**
 * One training process, leader of a process group (and session) of its own, so that a signal reaches everything that it started.
 *
 * Its stdin is empty, unlike under torchrun: of several processes that share a terminal, which one gets a line is chance.
 */
export class Worker {
  readonly pid: number | undefined;
  /** Resolves when the process itself has ended; others of its group may still run. Never rejects. */
  readonly ended: Promise<WorkerOutcome>;
  #told: WorkerOutcome['told'];
  #forced = false;
  #hasEnded = false;
  readonly #guard: Guard | undefined;
  readonly #savingMark: string | undefined;

  constructor(plan: WorkerPlan) {
    this.#savingMark = plan.savingMark;
    const { rank, localRank } = plan;
    this.#guard = plan.kind === 'program' ? new Guard() : undefined;
    const child = this.#guard ? startProgram(plan, this.#guard) : startScript(plan);
    // Never written to: that it closes is the message. A worker that died may reset it.
    if (child.pid !== undefined) child.stdio[launcherPipeDescriptor]?.on('error', () => undefined);
    this.pid = child.pid;
    this.ended = outcomeOf(child).then((outcome) => {
      this.#hasEnded = true;
      return {
        rank,
        localRank,
        pid: child.pid,
        told: this.#told,
        forced: this.#forced,
        endedAt: Date.now(),
        ...outcome,
      };
    });
  }

  /** Sends `signal` to the worker and everything that it started, except what left its process group. */
  signalGroup(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    if (!this.#hasEnded) {
      this.#told ??= { signal, at: Date.now() };
      this.#forced ||= signal === 'SIGKILL';
    }
    signalProcessGroup(this.pid, signal);
  }

  /** Whether it is writing a checkpoint. */
  isSaving(): boolean {
    return this.#savingMark !== undefined && existsSync(this.#savingMark);
  }

  /** Nothing of its process group is left to watch over. */
  async release(): Promise<void> {
    await this.#guard?.release();
  }

  /** Whether anything of its process group still runs. */
  groupIsLeft(): boolean {
    return this.pid !== undefined && processGroupIsLeft(this.pid);
  }
}

/** A script is told where the pipe is whose other end the launcher holds. */
function startScript({ command, arguments: args, environment, output }: WorkerPlan): ChildProcess {
  return spawn(command, args, {
    env: { ...environment, [launcherPipeVariable]: String(launcherPipeDescriptor) },
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
      if (child.pid === undefined) resolve({ exitCode: null, signal: null, startError: error.message });
    });
  });
}
