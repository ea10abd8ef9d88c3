import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { formatRanks, pathProblem, printable, RingrunError } from '@ringrun/core';
import {
  StoreServer,
  createSecret,
  jobSecret,
  readSecretFile,
  requireSecret,
  requireSecretToEncrypt,
} from '@ringrun/rendezvous';
import { decideRestart } from '@ringrun/rendezvous/rounds';
import type { RestartBackoff, RestartBudget, Round } from '@ringrun/rendezvous/rounds';
import { EventLog } from '../dashboard/event-log.ts';
import { readBackoff } from './read-backoff.ts';
import { WorkerLauncher } from './worker-launcher.ts';
import type { LaunchedWorkers } from './worker-launcher.ts';
import type { Executable } from './executable.ts';
import type { LaunchOptions } from '../options/launch-options.ts';
import { CommandError } from '../command-error.ts';
import { hostTime } from '../worker/host-time.ts';
import { openDashboard } from './open-dashboard.ts';
import { findFreePort, requireFreePort } from '../host/ports.ts';
import type { FailedRun } from './failure-report.ts';
import { findEarlyLeavers } from './find-root-cause.ts';
import { preemptionOf, rootCauseOf } from './root-cause.ts';
import { EndingSignals } from './signals.ts';
import { exitCodeOf } from './signal-words.ts';
import { writeTerminationLog } from './termination-log.ts';
import type { NodeOutcome } from './agent.ts';
import { hasRecoveryMark } from '../worker/recovery-mark.ts';

/**
 * Runs this node's part of a job. Resolves with the exit code of the launcher.
 *
 * @throws CommandError before any worker is started.
 */
export async function launch(options: LaunchOptions, executable: Executable): Promise<number> {
  provideSecret(options, process.env);
  provideLinks(options, process.env);
  const signals = new EndingSignals(options.signalsToHandle);
  const launcher = await WorkerLauncher.prepare(options, executable);
  try {
    const events = new EventLog();
    if (options.nodes.max === 1) return await launchSingleNode(options, launcher, signals, events);
    // Loaded only for several nodes.
    const { launchMultiNode } = await import('./launch-multi-node.ts');
    return await launchMultiNode(options, launcher, signals, events);
  } finally {
    launcher.dispose();
  }
}

/**
 * Sets RINGRUN_SECRET in the environment of this process, whose store uses it, and which the workers inherit, and
 * RINGRUN_ENCRYPT. A job of one node without a secret receives a random one.
 *
 * @throws CommandError for an invalid secret, or if one is required and missing.
 */
function provideSecret({ secretFile, encrypt, nodes }: LaunchOptions, env: NodeJS.ProcessEnv): void {
  try {
    const given = secretFile === undefined ? jobSecret(env) : readSecretFile(secretFile, '--secret-file');
    const secret = given ?? (nodes.max === 1 ? createSecret() : undefined);
    if (secret === undefined) requireSecret(env);
    else env['RINGRUN_SECRET'] = secret;
    if (!encrypt) return;
    requireSecretToEncrypt(env);
    env['RINGRUN_ENCRYPT'] = '1';
  } catch (error) {
    if (!(error instanceof RingrunError)) throw error;
    throw new CommandError(2, error.message, { cause: error });
  }
}

/**
 * Sets RINGRUN_LINKS and RINGRUN_SAVE_LINKS in the environment of the workers, which check the contents.
 *
 * @throws CommandError if the file of links cannot be read, or measured links cannot be written.
 */
function provideLinks({ links, saveLinks }: LaunchOptions, env: NodeJS.ProcessEnv): void {
  if (links !== undefined && links !== 'measure') {
    const problem = pathProblem(links, 'file');
    if (problem !== undefined)
      throw new CommandError(
        2,
        `--links: expected measure or a JSON file of links, got ${links}, which ${problem}.`,
      );
    env['RINGRUN_LINKS'] = resolve(links);
  } else if (links === 'measure') env['RINGRUN_LINKS'] = links;
  if (saveLinks === undefined) return;
  if (links !== 'measure')
    throw new CommandError(
      2,
      `--save-links: expected --links measure, got ${links ?? 'no --links'}. Add it, or remove --save-links.`,
    );
  env['RINGRUN_SAVE_LINKS'] = resolve(saveLinks);
}

/** Runs a job on this node alone. */
async function launchSingleNode(
  options: LaunchOptions,
  launcher: WorkerLauncher,
  signals: EndingSignals,
  events: EventLog,
): Promise<number> {
  const dashboard = await openDashboard(options, true, events);
  // Loopback only: no other host may connect.
  const store = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  const over = new AbortController();
  const signalled = new AbortController();
  const runId = options.runId ?? randomUUID();
  let budget: RestartBudget = {
    maxRestarts: options.maxRestarts,
    restartsUsed: 0,
    lastStartUpFailure: undefined,
    quickFailures: 0,
  };
  const backoff = readBackoff(process.env);
  let workers: LaunchedWorkers | undefined;
  let endSignal: NodeJS.Signals | undefined;
  const listen = (signal: NodeJS.Signals): void => {
    endSignal ??= signal;
    signalled.abort();
    workers?.onSignal(signal);
  };
  signals.listen(listen, over.signal);
  try {
    for (let restartCount = 0; ; restartCount += 1) {
      const round = await resolveRound(options, launcher, { restartCount, runId, store });
      // The signal arrived between two rounds, or before the first round.
      if (endSignal) return exitCodeOf(endSignal);
      const record = (what: string): void => {
        events.add(what, launcher.eventsFolder);
      };
      workers = launcher.start(round, budget.maxRestarts - budget.restartsUsed, (what) => {
        record(what);
        process.stderr.write(`ringrun: ${printable(what)}\n`);
      });
      dashboard?.startRound({ round, files: workers.figuresFiles, currentStore: () => undefined });
      const ended = await workers.ended;
      budget = { ...budget, restartsUsed: budget.restartsUsed + ended.restarts };
      const next = reportRound(ended, budget, backoff, record);
      if ('exitCode' in next) return next.exitCode;
      budget = next.budget;
      workers = undefined;
      await delay(next.delayMs, undefined, { signal: signalled.signal }).catch(() => undefined);
    }
  } finally {
    over.abort();
    await dashboard?.close();
    await store.close();
  }
}

/** Prints how an attempt failed, and decides whether the workers are restarted. */
function reportRound(
  { outcome, run }: Awaited<LaunchedWorkers['ended']>,
  budget: RestartBudget,
  backoff: RestartBackoff,
  record: (what: string) => void,
): { exitCode: number } | { budget: RestartBudget; delayMs: number } {
  if (outcome.endedBy) {
    const preemption = preemptionOf(run);
    process.stderr.write(
      `ringrun: ${describeForcedEnd(outcome)}${preemption ? `; ${printable(preemption.headline)}` : ''}\n`,
    );
    return { exitCode: exitCodeOf(outcome.endedBy) };
  }
  const rootCause = rootCauseOf(run);
  if (!rootCause) {
    reportOutlived(outcome, run);
    return { exitCode: 0 };
  }
  const end = {
    nodesChanged: false,
    startUpFailure: rootCause.startUpFingerprint,
    failedSoon: hostTime() - run.startedAt < backoff.healthyMs,
  };
  const next = decideRestart(end, budget, backoff);
  record(rootCause.headline);
  if (next.kind === 'restart') {
    record(`restarting the workers: ${next.reason}`);
    process.stderr.write(`${rootCause.text}ringrun: restarting the workers: ${next.reason}\n`);
    return next;
  }
  const why = budget.maxRestarts > 0 ? `ringrun: no restart: ${next.reason}\n` : '';
  process.stderr.write(`${why}${rootCause.text}`);
  writeTerminationLog(rootCause.text);
  return { exitCode: rootCause.exitCode };
}

/** Prints, for example, `the job finished without rank 2`, if the job was fault-tolerant. */
function reportOutlived({ workers, outlived, deaths }: NodeOutcome, run: FailedRun): void {
  const isFaultTolerant = workers.some(({ errorFile }) => hasRecoveryMark(errorFile));
  for (const { worker } of isFaultTolerant ? findEarlyLeavers(run.workers) : []) {
    const { rank, pid } = worker.outcome;
    process.stderr.write(
      `ringrun: the job finished; rank ${rank} (pid ${pid}) had exited with code 0 without destroyProcessGroup()\n`,
    );
  }
  const finished = new Set(workers.filter(({ exitCode }) => exitCode === 0).map(({ rank }) => rank));
  const lost = new Set([...outlived].map(({ rank }) => rank));
  if (lost.size === 0) return;
  const missing = [...lost].filter((rank) => !finished.has(rank));
  const how = missing.length === 0 ? 'with all ranks' : `without ${formatRanks(missing)}`;
  process.stderr.write(
    `ringrun: the job finished ${how}, after ${deaths} ${deaths === 1 ? 'process' : 'processes'} died\n`,
  );
}

async function resolveRound(
  options: LaunchOptions,
  { processesPerNode }: WorkerLauncher,
  { restartCount, runId, store }: { restartCount: number; runId: string; store: StoreServer },
): Promise<Round> {
  // Chosen after the store has bound its port, so that the two ports differ.
  const masterPort = await resolveMasterPort(options.masterPort);
  return {
    runId,
    restartCount,
    groupRank: 0,
    groupWorldSize: 1,
    processesPerNode: [processesPerNode],
    masterAddress: options.masterAddress ?? '127.0.0.1',
    masterPort,
    storeEndpoint: store.endpoint,
  };
}

async function resolveMasterPort(given: number | undefined): Promise<number> {
  if (given === undefined) return findFreePort();
  await requireFreePort(given);
  return given;
}

/** Returns, for example, `ended by SIGTERM; all workers ended`. */
function describeForcedEnd({ workers, endedBy }: NodeOutcome): string {
  const killed = workers.filter(({ forced }) => forced).length;
  const how =
    killed > 0
      ? `${killed} of ${workers.length} workers did not end within the grace period and were killed`
      : 'all workers ended';
  return `ended by ${endedBy ?? 'the launcher'}; ${how}`;
}
