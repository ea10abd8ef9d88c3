import { randomUUID } from 'node:crypto';
import { afterRound } from '../rendezvous/restart-policy.ts';
import type { Budget } from '../rendezvous/restart-policy.ts';
import type { Round } from '../rendezvous/round.ts';
import { StoreServer } from '../store/index.ts';
import { Attempts } from './attempts.ts';
import type { Attempt } from './attempts.ts';
import type { Executable } from './executable.ts';
import type { LaunchOptions } from './options/launch-options.ts';
import { findFreePort, requireFreePort } from './ports.ts';
import { rootCauseOf } from './root-cause.ts';
import { EndingSignals } from './signals.ts';
import { describeForcedEnd } from './forced-end.ts';
import { exitCodeOf } from './signal-words.ts';
import { writeTerminationLog } from './termination-log.ts';

/**
 * Runs this node's part of a job and resolves with the exit code of the launcher.
 *
 * @throws LaunchError before any worker was started.
 */
export async function launch(options: LaunchOptions, executable: Executable): Promise<number> {
  const signals = new EndingSignals(options.signalsToHandle);
  const attempts = await Attempts.prepare(options, executable);
  try {
    if (options.nodes.max === 1) return await launchAlone(options, attempts, signals);
    // A job of one node need not load it.
    const { launchTogether } = await import('./launch-together.ts');
    return await launchTogether(options, attempts, signals);
  } finally {
    attempts.dispose();
  }
}

/** A job of this node alone. */
async function launchAlone(
  options: LaunchOptions,
  attempts: Attempts,
  signals: EndingSignals,
): Promise<number> {
  // Workers of one node reach it over loopback, and nobody else should.
  const store = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  const over = new AbortController();
  const runId = options.runId ?? randomUUID();
  let budget: Budget = { maxRestarts: options.maxRestarts, restartsUsed: 0, lastStartUpFailure: undefined };
  let attempt: Attempt | undefined;
  signals.listen((signal) => attempt?.onSignal(signal), over.signal);
  try {
    for (let number = 1; ; number += 1) {
      attempt = attempts.start(await settleRound(options, attempts, { number, runId, store }));
      const { outcome, run } = await attempt.ended;
      if (outcome.endedBy) {
        process.stderr.write(`ringrun: ${describeForcedEnd(outcome)}\n`);
        return exitCodeOf(outcome.endedBy);
      }
      const rootCause = rootCauseOf(run);
      if (!rootCause) return 0;
      process.stderr.write(rootCause.text);
      const end = { nodesChanged: false, startUpFailure: rootCause.startUpFingerprint };
      const next = afterRound(end, budget);
      if (next.kind === 'fail') {
        if (options.maxRestarts > 0) process.stderr.write(`ringrun: no restart: ${next.reason}\n`);
        writeTerminationLog(rootCause.text);
        return rootCause.exitCode;
      }
      process.stderr.write(`ringrun: the workers are started again: ${next.reason}\n`);
      budget = next.budget;
    }
  } finally {
    over.abort();
    await store.close();
  }
}

async function settleRound(
  options: LaunchOptions,
  { processesPerNode }: Attempts,
  { number, runId, store }: { number: number; runId: string; store: StoreServer },
): Promise<Round> {
  // After the store has its port, so that the two are not the same.
  const masterPort = await settleMasterPort(options.masterPort);
  return {
    number,
    runId,
    restartCount: number - 1,
    groupRank: 0,
    groupWorldSize: 1,
    processesPerNode: [processesPerNode],
    masterAddress: options.masterAddress ?? '127.0.0.1',
    masterPort,
    storeEndpoint: store.endpoint,
  };
}

async function settleMasterPort(given: number | undefined): Promise<number> {
  if (given === undefined) return findFreePort();
  await requireFreePort(given);
  return given;
}
