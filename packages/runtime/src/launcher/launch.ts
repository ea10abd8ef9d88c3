import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreServer } from '../store/index.ts';
import { runWorkers } from './agent.ts';
import type { NodeOutcome } from './agent.ts';
import { readOomKills } from './cgroup.ts';
import { readUsableCpus } from './cpus.ts';
import type { Executable } from './executable.ts';
import { reportFailure } from './failure-report.ts';
import type { FailedRun } from './failure-report.ts';
import type { LaunchOptions } from './options/launch-options.ts';
import { LaunchError } from './launch-error.ts';
import { RunLogs } from './logs/run-logs.ts';
import type { AttemptLogs } from './logs/run-logs.ts';
import { withTorchrunVariables } from './program-environment.ts';
import { findFreePort, requireFreePort } from './ports.ts';
import { readErrorRecord } from './read-error-record.ts';
import { readProcessCount } from './process-count.ts';
import { exitCodeOf } from './signal-words.ts';
import { EndingSignals } from './signals.ts';
import { writeTerminationLog } from './termination-log.ts';
import { workerCommand } from './worker-command.ts';
import type { CommandLine } from './worker-command.ts';
import { cpusPerWorker, workerEnvironment } from './worker-environment.ts';
import type { JobSettings } from './worker-environment.ts';
import type { WorkerOutcome, WorkerPlan } from './worker.ts';

/**
 * Runs one job on this node and resolves with the exit code of the launcher.
 *
 * @throws LaunchError before any worker was started.
 */
export async function launch(options: LaunchOptions, executable: Executable): Promise<number> {
  refuseSeveralNodes(options);
  const signals = new EndingSignals(options.signalsToHandle);
  // Workers of one node reach it over loopback, and nobody else should.
  const store = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  const records = makeRecordFolder();
  try {
    const job = await settleJob(options, store);
    const logs = startLogs(options, job);
    const commandOf = await settleCommand(options, executable, job);
    const plans = planWorkers(commandOf, job, records, logs);
    const before = { startedAt: Date.now(), oomKills: readOomKills() };
    const outcome = await runWorkers(plans, signals, options.gracePeriodMs);
    await logs.finish();
    return conclude(outcome, {
      host: hostname(),
      startedAt: before.startedAt,
      oomKills: rise(before.oomKills, readOomKills()),
      workers: outcome.workers.map((worker) => ({
        outcome: worker,
        error: ownRecord(worker, records, executable.kind),
        hiddenOutput: logs.hiddenOutputOf(worker.localRank),
      })),
    });
  } finally {
    if (records !== undefined) rmSync(records, { recursive: true, force: true });
    await store.close();
  }
}

function startLogs(
  { logs: options, role }: LaunchOptions,
  { runId, processesPerNode: count }: JobSettings,
): AttemptLogs {
  const logs = new RunLogs(options, runId, count);
  if (logs.folder !== undefined)
    process.stderr.write(`ringrun: output of the workers is in ${logs.folder}\n`);
  const workers = Array.from({ length: count }, (_, rank) => ({
    localRank: rank,
    rank,
    role,
    groupRank: 0,
    groupWorldSize: 1,
  }));
  return logs.attempt(0, workers);
}

async function settleJob(options: LaunchOptions, store: StoreServer): Promise<JobSettings> {
  // After the store has its port, so that the two are not the same.
  const masterPort = await settleMasterPort(options.masterPort);
  return {
    runId: options.runId ?? randomUUID(),
    role: options.role,
    masterAddress: options.masterAddress ?? '127.0.0.1',
    masterPort,
    storeEndpoint: store.endpoint,
    processesPerNode: readProcessCount(options.processesPerNode),
    usableCpus: readUsableCpus(),
  };
}

async function settleMasterPort(given: number | undefined): Promise<number> {
  if (given === undefined) return findFreePort();
  await requireFreePort(given);
  return given;
}

/** What each worker is started with, by local rank. */
async function settleCommand(
  { numaBinding }: LaunchOptions,
  executable: Executable,
  job: JobSettings,
): Promise<(localRank: number) => CommandLine> {
  const command = workerCommand(executable, cpusPerWorker(job));
  if (numaBinding === undefined) return () => command;
  const { bindWorkers } = await import('./numa/bound-command.ts');
  const bind = bindWorkers(numaBinding, job.processesPerNode);
  return (localRank) => bind(command, localRank);
}

function planWorkers(
  commandOf: (localRank: number) => CommandLine,
  job: JobSettings,
  records: string | undefined,
  logs: AttemptLogs,
): WorkerPlan[] {
  return Array.from({ length: job.processesPerNode }, (_, localRank) => {
    const command = commandOf(localRank);
    const environment = workerEnvironment(
      job,
      localRank,
      records && recordFile(records, localRank),
      process.env,
    );
    return {
      rank: localRank,
      localRank,
      ...command,
      output: logs.outputOf(localRank),
      environment: command.kind === 'script' ? environment : withTorchrunVariables(environment),
    };
  });
}

function refuseSeveralNodes({ nodes }: LaunchOptions): void {
  if (nodes.max === 1) return;
  throw new LaunchError(1, `A job of ${nodes.max} nodes was asked for: this launcher runs jobs of one.`);
}

/** Prints why the job ended, unless it ended well. */
function conclude({ workers, endedBy }: NodeOutcome, run: FailedRun): number {
  if (endedBy) {
    const killed = workers.filter(({ forced }) => forced).length;
    const how =
      killed > 0
        ? `${killed} of ${workers.length} workers did not end in time and were killed`
        : 'all workers ended';
    process.stderr.write(`ringrun: ended by ${endedBy}; ${how}\n`);
    return exitCodeOf(endedBy);
  }
  const report = reportFailure(run);
  if (!report) return 0;
  process.stderr.write(report.text);
  writeTerminationLog(report.text);
  return report.exitCode;
}

/** Where workers leave records of their errors; undefined, with one line that says so, where no temporary file can be written. */
function makeRecordFolder(): string | undefined {
  try {
    return mkdtempSync(join(tmpdir(), 'ringrun-'));
  } catch (error) {
    process.stderr.write(
      `ringrun: a failure will be reported without its stack: ${(error as Error).message}\n`,
    );
    return undefined;
  }
}

function recordFile(folder: string, rank: number): string {
  return join(folder, `rank-${rank}.json`);
}

/**
 * A record of another process that inherited the variable, such as one that the script started, says nothing about a script; a program may be a shell
 * that runs the script.
 */
function ownRecord({ rank, pid }: WorkerOutcome, folder: string | undefined, kind: Executable['kind']) {
  const record = folder === undefined ? undefined : readErrorRecord(recordFile(folder, rank), pid);
  return kind === 'program' || record?.pid === pid ? record : undefined;
}

function rise(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined ? undefined : after - before;
}
