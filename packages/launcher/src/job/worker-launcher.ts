import { randomUUID } from 'node:crypto';
import { rmSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { printable } from '@ringrun/core';
import { firstRankOf } from '@ringrun/rendezvous/rounds';
import type { Round } from '@ringrun/rendezvous/rounds';
import { logLinkName } from '../dashboard/figure-files.ts';
import { figuresVariable } from '../worker/rank-figures.ts';
import { savingMarkOf } from '../worker/saving-mark.ts';
import { startWorkers } from './agent.ts';
import type { NodeOutcome, StartedWorkers } from './agent.ts';
import { compileCacheVariables } from './compile-cache.ts';
import { readOomKills } from '../host/cgroup.ts';
import { readUsableCpus } from '../host/cpus.ts';
import type { Executable } from './executable.ts';
import type { FailedRun } from './failure-report.ts';
import type { WorkerRecord } from './find-root-cause.ts';
import { RunLogs } from '../logs/run-logs.ts';
import type { RoundLogs } from '../logs/run-logs.ts';
import { jobNameOf } from '../options/launch-options.ts';
import type { LaunchOptions } from '../options/launch-options.ts';
import { readLimits, refuseTooMany } from './process-limits.ts';
import { refuseUnknownRanks } from '../logs/destinations.ts';
import { readProcessCount } from './process-count.ts';
import { cacheVariable, typescriptCacheFolder } from '../typescript/cache.ts';
import { stackThreadDelay } from './stack-thread-delay.ts';
import { withTorchrunVariables, cpusPerWorker, workerEnvironment } from './worker-environment.ts';
import { makeLauncherFolder } from '../worker/launcher-folder.ts';
import { readExitRecord } from '../worker/exit-record.ts';
import { hostTime } from '../worker/host-time.ts';
import { readErrorRecord } from '../worker/read-error-record.ts';
import { Survival, workerIdVariable } from './survival.ts';
import { workerCommand } from './worker-command.ts';
import { figuresFile, recordFile, removeOldRounds } from './worker-files.ts';
import type { CommandLine } from './worker-command.ts';
import type { Script } from './script.ts';
import type { JobSettings } from './worker-environment.ts';
import type { WorkerOutcome, WorkerPlan } from './worker.ts';

/** The workers of this node in one round. */
export interface LaunchedWorkers extends Omit<StartedWorkers, 'ended'> {
  /** The files of those workers that publish figures. */
  readonly figuresFiles: readonly string[];
  /** Resolves when all workers have ended and the console shows their output. */
  readonly ended: Promise<{ outcome: NodeOutcome; run: FailedRun; restarts: number }>;
}

/** Starts the workers of this node, once per round. */
export class WorkerLauncher {
  readonly processesPerNode: number;
  readonly #options: LaunchOptions;
  readonly #executable: Executable;
  readonly #commandOf: (localRank: number) => CommandLine;
  readonly #usableCpus: number;
  readonly #records = makeLauncherFolder();
  #logs: RunLogs | undefined;

  private constructor(
    options: LaunchOptions,
    executable: Executable,
    node: { processesPerNode: number; usableCpus: number },
    commandOf: (localRank: number) => CommandLine,
  ) {
    this.#options = options;
    this.#executable = executable;
    this.processesPerNode = node.processesPerNode;
    this.#usableCpus = node.usableCpus;
    this.#commandOf = commandOf;
  }

  /** @throws CommandError if this node cannot run the job with these options. */
  static async prepare(options: LaunchOptions, executable: Executable): Promise<WorkerLauncher> {
    const node = {
      processesPerNode: readProcessCount(options.processesPerNode),
      usableCpus: readUsableCpus(),
    };
    refuseTooMany(node.processesPerNode, readLimits(executable.kind));
    refuseUnknownRanks(options.logs, node.processesPerNode);
    const commandOf = await resolveCommand(options, executable, node);
    return new WorkerLauncher(options, executable, node, commandOf);
  }

  /** The launcher's temporary folder; undefined if none could be created. */
  get folder(): string | undefined {
    return this.#records;
  }

  /** The folder for the events of the job: of this run below the log directory, or else the temporary one. */
  get eventsFolder(): string | undefined {
    return this.#logs?.folder ?? this.#records;
  }

  /**
   * @param restartsLeft Number of workers of a fault-tolerant job that may be started again.
   * @param onLoss Receives a line when the job continues without a worker.
   */
  start(round: Round, restartsLeft: number, onLoss: (what: string) => void): LaunchedWorkers {
    const logs = this.#startLogs(round);
    if (this.#records !== undefined) removeOldRounds(this.#records, round.restartCount);
    const before = { startedAt: hostTime(), oomKills: readOomKills() };
    const survival = new Survival(round, restartsLeft, onLoss);
    const plans = this.#plan(round, logs);
    const workers = startWorkers(plans, this.#options.gracePeriodMs, survival);
    const ended = workers.ended.then(async (outcome) => {
      await logs.finish();
      return { outcome, run: this.#runOf(outcome, before, logs), restarts: survival.restarts };
    });
    const figuresFiles = plans.map(({ environment }) => environment[figuresVariable]);
    return { ...workers, ended, figuresFiles: figuresFiles.filter((file) => file !== undefined) };
  }

  /** Removes the launcher's temporary files. */
  dispose(): void {
    try {
      if (this.#records !== undefined) rmSync(this.#records, { recursive: true, force: true });
    } catch {
      // Ignored: the next launcher tries again, and the result of the job matters more.
    }
  }

  #startLogs(round: Round): RoundLogs {
    this.#logs ??= this.#openLogs(round.runId);
    const { groupRank, groupWorldSize } = round;
    const workers = Array.from({ length: this.processesPerNode }, (_, localRank) => ({
      localRank,
      rank: firstRankOf(round) + localRank,
      role: this.#options.role,
      groupRank,
      groupWorldSize,
    }));
    return this.#logs.open(round.restartCount, workers);
  }

  #openLogs(runId: string): RunLogs {
    const logs = new RunLogs(this.#options.logs, runId, this.processesPerNode);
    if (logs.folder !== undefined) {
      process.stderr.write(`ringrun: writing the output of the workers to ${printable(logs.folder)}\n`);
      if (this.#records !== undefined) linkLogs(logs.folder, this.#records);
    }
    return logs;
  }

  #plan(round: Round, logs: RoundLogs): WorkerPlan[] {
    const { role, maxRestarts, gracePeriodMs } = this.#options;
    const { processesPerNode } = this;
    const usableCpus = this.#usableCpus;
    const inherited = { ...this.#cacheVariables(), ...process.env };
    const name = jobNameOf(this.#options);
    const job: JobSettings = { round, name, role, maxRestarts, gracePeriodMs, processesPerNode, usableCpus };
    return Array.from({ length: processesPerNode }, (_, localRank) => {
      const command = this.#commandOf(localRank);
      const errorFile = this.#recordFile(round, localRank);
      const figuresFile = logs.figuresFileOf(localRank) ?? this.#figuresFile(round, localRank);
      const environment = workerEnvironment(job, localRank, { errorFile, figuresFile }, inherited);
      return {
        rank: firstRankOf(round) + localRank,
        localRank,
        ...command,
        output: logs.outputOf(localRank),
        savingMark: errorFile === undefined ? undefined : savingMarkOf(errorFile),
        stackThreadAfterMs: stackThreadDelay(job),
        environment: {
          ...(command.kind === 'script' ? environment : withTorchrunVariables(environment)),
          [workerIdVariable]: randomUUID(),
        },
      };
    });
  }

  #cacheVariables(): NodeJS.ProcessEnv {
    if (this.#executable.kind !== 'script') return {};
    return { ...compileCacheVariables(process.env), ...this.#typescriptVariables(this.#executable.script) };
  }

  /**
   * If the user has no cache folder for compiled TypeScript, the workers share one that is removed with the launcher.
   */
  #typescriptVariables({ language }: Script): NodeJS.ProcessEnv {
    if (
      language !== 'typescript' ||
      this.#records === undefined ||
      typescriptCacheFolder(process.env) !== undefined
    )
      return {};
    return { [cacheVariable]: this.#records };
  }

  #runOf(
    outcome: NodeOutcome,
    before: { startedAt: number; oomKills: number | undefined },
    logs: RoundLogs,
  ): FailedRun {
    return {
      host: hostname(),
      startedAt: before.startedAt,
      oomKills: rise(before.oomKills, readOomKills()),
      workers: countingOf(outcome).map((worker) => ({
        outcome: worker,
        ...this.#recordsOf(worker),
        isOutlived: outcome.outlived.has(worker),
        hiddenOutput: logs.hiddenOutputOf(worker.localRank),
      })),
    };
  }

  #recordFile({ restartCount }: Round, localRank: number): string | undefined {
    return this.#records && recordFile(this.#records, restartCount, localRank);
  }

  /** Without log files, only for the dashboard. */
  #figuresFile({ restartCount }: Round, localRank: number): string | undefined {
    if (this.#options.dashboard === undefined || this.#records === undefined) return undefined;
    return figuresFile(this.#records, restartCount, localRank);
  }

  /**
   * For a script, ignores records of child processes, which inherit the variable. A program may be a shell that runs
   * the script, so any record counts.
   */
  #recordsOf({ errorFile, pid }: WorkerOutcome): Pick<WorkerRecord, 'error' | 'exit'> {
    if (errorFile === undefined) return { error: undefined };
    const own = <Kind extends { pid: number }>(record: Kind | undefined) =>
      this.#executable.kind === 'program' || record?.pid === pid ? record : undefined;
    return { error: own(readErrorRecord(errorFile, pid)), exit: own(readExitRecord(errorFile)) };
  }
}

/** For `ringrun top`, which finds a job by its temporary folder. */
function linkLogs(folder: string, records: string): void {
  try {
    symlinkSync(folder, join(records, logLinkName));
  } catch {
    // Some file systems have no links. `ringrun top <log dir>` works without one.
  }
}

/** Returns the command of each worker, by local rank. */
async function resolveCommand(
  { numaBinding }: LaunchOptions,
  executable: Executable,
  node: Pick<JobSettings, 'processesPerNode' | 'usableCpus'>,
): Promise<(localRank: number) => CommandLine> {
  const command = workerCommand(executable, cpusPerWorker(node));
  if (numaBinding === undefined) return () => command;
  const { bindWorkers } = await import('./bound-command.ts');
  const bind = bindWorkers(numaBinding, node.processesPerNode);
  return (localRank) => bind(command, localRank);
}

/** Without replacements that came too late, and without the failed workers that the job survived if other workers succeeded. */
export function countingOf({ workers, outlived, unneeded }: NodeOutcome): WorkerOutcome[] {
  const needed = workers.filter((worker) => !unneeded.has(worker));
  const counting = needed.filter((worker) => !outlived.has(worker));
  return counting.length === 0 || counting.some(({ exitCode }) => exitCode === 0) ? counting : needed;
}

function rise(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined ? undefined : after - before;
}
