import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { hostIdentity } from '@ringrun/collectives';
import { printable, printableLines, RingrunError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { isLoopback } from '@ringrun/rendezvous';
import { JobStore, Rendezvous, advertisedAddress, describeEvent } from '@ringrun/rendezvous/nodes';
import type { JobTerms, NodeInfo, RendezvousEnd, RunningWorkers, Verdict } from '@ringrun/rendezvous/nodes';
import type { RootCause, Round } from '@ringrun/rendezvous/rounds';
import type { Dashboard } from '../dashboard/dashboard.ts';
import type { EventLog } from '../dashboard/event-log.ts';
import { answerStackRequests } from '../stacks/answer-requests.ts';
import { countingOf } from './worker-launcher.ts';
import type { LaunchedWorkers, WorkerLauncher } from './worker-launcher.ts';
import { CommandError } from '../command-error.ts';
import type { LaunchOptions } from '../options/launch-options.ts';
import { openDashboard } from './open-dashboard.ts';
import { findFreePort } from '../host/ports.ts';
import { readBackoff } from './read-backoff.ts';
import { earlyLeaveOf, preemptionOf, rootCauseOf } from './root-cause.ts';
import type { EndingSignals } from './signals.ts';
import { exitCodeOf } from './signal-words.ts';
import { writeTerminationLog } from './termination-log.ts';

/** Default ports of torch, by rendezvous backend. */
const defaultPorts = { static: 29500, c10d: 29400 };

/**
 * Runs this node's part of a job of several nodes. Resolves with the exit code.
 *
 * @throws CommandError if this node cannot reach or serve the store.
 */
export async function launchMultiNode(
  options: LaunchOptions,
  launcher: WorkerLauncher,
  signals: EndingSignals,
  events: EventLog,
): Promise<number> {
  const store = jobStoreOf(options);
  let dashboard: Dashboard | undefined;
  try {
    await store.serveIfLocal();
    dashboard = await openDashboard(options, store.isServer, events);
    return reportEnd(await runNode(options, launcher, signals, { store, events, dashboard }));
  } catch (error) {
    if (!(error instanceof RingrunError)) throw error;
    throw new CommandError(1, error.message, { cause: error });
  } finally {
    await dashboard?.close();
    await store.close();
  }
}

/** How this node's part ended. */
interface NodeEnd {
  end: RendezvousEnd;
  /** The signal that ended this node. */
  leftBy: NodeJS.Signals | undefined;
  /**
   * Why this node's workers ended, if they saved a checkpoint after SIGTERM. A node that leaves may not see its own report
   * in the job's state: the node that serves the store may have ended first.
   */
  preemption: RootCause | undefined;
}

async function runNode(
  options: LaunchOptions,
  launcher: WorkerLauncher,
  signals: EndingSignals,
  { store, events, dashboard }: { store: JobStore; events: EventLog; dashboard: Dashboard | undefined },
): Promise<NodeEnd> {
  const leaving = new AbortController();
  const over = new AbortController();
  let leftBy: NodeJS.Signals | undefined;
  let workers: LaunchedWorkers | undefined;
  let preemption: RootCause | undefined;
  signals.listen((signal) => {
    leftBy ??= signal;
    workers?.onSignal(signal);
    leaving.abort(leftBy);
  }, over.signal);
  const start = (round: Round, currentStore: () => Store | undefined): RunningWorkers => {
    log(describeRound(round, launcher.processesPerNode));
    workers = launcher.start(round, options.maxRestarts, (what) => {
      log(`ringrun: ${what}`);
    });
    dashboard?.startRound({ round, files: workers.figuresFiles, currentStore });
    void workers.ended.then(({ run }) => (preemption = preemptionOf(run)));
    if (round.groupWorldSize > 1 && launcher.folder !== undefined) {
      const roundOver = new AbortController();
      void workers.ended.then(() => {
        roundOver.abort();
      });
      void answerStackRequests(currentStore, round, launcher.folder, roundOver.signal);
    }
    return runningWorkers(workers);
  };
  const { keepAliveIntervalMs, keepAliveMaxAttempts, joinTimeoutMs, lastCallMs, closeTimeoutMs } =
    options.rendezvous.config;
  const rendezvous = new Rendezvous({
    store,
    node: await nodeInfoOf(options, launcher, store),
    address: () => addressOf(options, store),
    terms: termsOf(options),
    timing: {
      keepAliveIntervalMs,
      keepAliveMaxAttempts,
      joinTimeoutMs,
      lastCallMs,
      backoff: readBackoff(process.env),
    },
    runId: options.runId ?? randomUUID(),
    workers: { findFreePort, start },
    lookEveryMs: options.monitorIntervalMs,
    gracePeriodMs: options.gracePeriodMs,
    closeTimeoutMs,
    leaving: leaving.signal,
    log,
    onEvents: (all) => {
      events.replace(all, launcher.eventsFolder);
    },
  });
  try {
    const end = await rendezvous.run();
    return { end, leftBy, preemption };
  } finally {
    over.abort();
  }
}

function jobStoreOf({ rendezvous, masterAddress, masterPort, nodeRank }: LaunchOptions): JobStore {
  const { backend, endpoint, config } = rendezvous;
  const host = endpoint?.host ?? masterAddress ?? '127.0.0.1';
  const port = endpoint?.port ?? masterPort ?? defaultPorts[backend];
  return new JobStore({
    endpoint: { host, port },
    servesStore: backend === 'static' ? nodeRank === 0 : config.isHost,
    joinTimeoutMs: config.joinTimeoutMs,
    // A node without an answer for the length of a lease loses its slot in the round.
    answerTimeoutMs: Math.min(config.readTimeoutMs, Math.max(1000, config.keepAliveIntervalMs)),
    log,
  });
}

function termsOf({ nodes, runId, rendezvous, maxRestarts }: LaunchOptions): JobTerms {
  return { id: runId ?? 'none', backend: rendezvous.backend, min: nodes.min, max: nodes.max, maxRestarts };
}

async function nodeInfoOf(
  options: LaunchOptions,
  launcher: WorkerLauncher,
  store: JobStore,
): Promise<Omit<NodeInfo, 'address'>> {
  const isStatic = options.rendezvous.backend === 'static';
  return {
    id: randomUUID(),
    host: hostname(),
    pid: process.pid,
    processesPerNode: launcher.processesPerNode,
    nodeRank: isStatic ? (options.nodeRank ?? 0) : undefined,
    machine: await hostIdentity(),
    hostsStore: store.isServer,
  };
}

/** With the static rendezvous, node 0 keeps the name from --master-addr, as MASTER_ADDR under torchrun. */
function addressOf(
  { localAddress, rendezvous: { backend } }: LaunchOptions,
  { endpoint, isServer }: JobStore,
): string | Promise<string> {
  if (localAddress !== undefined) return localAddress;
  const isMaster = backend === 'static' && isServer;
  return isMaster && !isLoopback(endpoint.host) ? endpoint.host : advertisedAddress(endpoint.host);
}

function runningWorkers(workers: LaunchedWorkers): RunningWorkers {
  const ended = workers.ended.then(({ outcome, run }) => {
    const preemption = preemptionOf(run);
    if (preemption) return { end: 'stopped', rootCause: preemption } as const;
    const rootCause = rootCauseOf(run);
    if (rootCause) return { end: 'failed', rootCause } as const;
    const haveFinished = countingOf(outcome).every(
      ({ exitCode, sentSignal }) => exitCode === 0 && !sentSignal,
    );
    return { end: haveFinished ? 'finished' : 'stopped', rootCause: earlyLeaveOf(run) } as const;
  });
  const { failing, end, mustRenewWithin } = workers;
  return { failing, ended, end, mustRenewWithin };
}

function describeRound(
  { restartCount, groupRank, groupWorldSize, masterAddress, masterPort }: Round,
  count: number,
): string {
  const workers = count === 1 ? '1 process' : `${count} processes`;
  return `ringrun: round ${restartCount + 1}: starting ${workers} as node ${groupRank} of ${groupWorldSize}, MASTER_ADDR ${printable(masterAddress)}, MASTER_PORT ${masterPort}`;
}

/** Prints how this node's part ended, and returns the exit code. */
function reportEnd({ end: { end, state }, leftBy, preemption }: NodeEnd): number {
  const history = (state?.events ?? []).map(describeEvent);
  if (leftBy !== undefined) {
    const cause = state?.rootCause?.isPreemption ? state.rootCause : preemption;
    log(`ringrun: ended by ${leftBy}${cause ? `; ${cause.headline}` : ''}`);
    return exitCodeOf(leftBy);
  }
  switch (end.kind) {
    case 'finished':
      if ((state?.roundsBegun ?? 1) > 1 || (state?.round ?? 1) > 1)
        log(['ringrun: events of the job:', ...history].join('\n'));
      return 0;
    case 'failed':
      return reportFailure(end, history);
    case 'refused':
      log(`ringrun: ${end.why}.`);
      return 1;
    case 'timed out':
      log(
        `ringrun: this node ${end.why}. Start them, or increase the timeout: --rdzv-conf join_timeout=<seconds>.`,
      );
      return 1;
    case 'left':
      return 0;
  }
}

/** Every node prints the root cause of the whole job and exits with its code. */
function reportFailure(
  { rootCause }: Extract<Verdict, { kind: 'failed' }>,
  history: readonly string[],
): number {
  const cause = rootCause?.text ?? 'ringrun: root cause: unknown, as no worker reported an error\n';
  const text = printableLines(['ringrun: events of the job:', ...history, cause].join('\n'));
  process.stderr.write(text);
  writeTerminationLog(text);
  return rootCause?.exitCode ?? 1;
}

function log(line: string): void {
  process.stderr.write(`${printableLines(line)}\n`);
}
