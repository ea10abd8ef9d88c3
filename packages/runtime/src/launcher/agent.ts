import { setTimeout as delay } from 'node:timers/promises';
import type { EndingSignals } from './signals.ts';
import { onSignal, onTime, onWorkerFailed, peerGraceMs } from './supervision.ts';
import type { Decision, Supervision } from './supervision.ts';
import { Worker } from './worker.ts';
import type { WorkerOutcome, WorkerPlan } from './worker.ts';

/** How all workers of this node ended. */
export interface NodeOutcome {
  /** In the order of the plans. */
  workers: WorkerOutcome[];
  /** The signal that ended the job, where no worker had failed before. */
  endedBy: NodeJS.Signals | undefined;
}

/** Milliseconds between two looks at a process group whose leader has ended. */
const lookAgainMs = 50;

/** Milliseconds until a killed process group is given up: the kernel holds what is left of it (uninterruptible I/O). */
const afterKillMs = 1000;

/**
 * Starts the workers, stays until all of them have ended, and sees to it that nothing which they started is left: when one fails or
 * the launcher is told to end, the process groups of the others are ended too; what a worker leaves behind when it ends well, as well.
 *
 * Never rejects because of what workers do.
 */
export async function runWorkers(
  plans: readonly WorkerPlan[],
  endingSignals: EndingSignals,
  gracePeriodMs: number,
): Promise<NodeOutcome> {
  let state: Supervision = { phase: 'running' };
  let killTimer: NodeJS.Timeout | undefined;
  const left = new Set<Worker>();
  const allDone = new AbortController();

  endingSignals.listen((signal) => {
    follow(onSignal(state, signal, performance.now(), gracePeriodMs));
  }, allDone.signal);

  const outcomes = await Promise.all(
    plans.map((plan) => {
      const worker = new Worker(plan);
      left.add(worker);
      return seeOff(worker);
    }),
  );
  clearTimeout(killTimer);
  allDone.abort();
  return { workers: outcomes, endedBy: endedBy(state) };

  function follow(decision: Decision): void {
    state = decision.state;
    if (decision.send) for (const worker of left) worker.signalGroup(decision.send);
    if (state.phase === 'ending' && decision.send !== 'SIGKILL') {
      clearTimeout(killTimer);
      killTimer = setTimeout(() => {
        follow(onTime(state, performance.now()));
      }, state.killAt - performance.now());
    }
  }

  async function seeOff(worker: Worker): Promise<WorkerOutcome> {
    const outcome = await worker.ended;
    if (outcome.exitCode !== 0) follow(onWorkerFailed(state, performance.now()));
    await endLeftovers(worker);
    await worker.release();
    left.delete(worker);
    return outcome;
  }

  async function endLeftovers(worker: Worker): Promise<void> {
    if (!worker.groupIsLeft()) return;
    const ownKillAt = performance.now() + peerGraceMs;
    if (state.phase === 'running') worker.signalGroup('SIGTERM');
    for (let killedAt = Infinity; worker.groupIsLeft() && performance.now() < killedAt + afterKillMs;) {
      await delay(lookAgainMs);
      const killAt = state.phase === 'ending' ? state.killAt : ownKillAt;
      if (killedAt === Infinity && performance.now() >= killAt) {
        worker.signalGroup('SIGKILL');
        killedAt = performance.now();
      }
    }
  }
}

function endedBy(state: Supervision): NodeJS.Signals | undefined {
  return state.phase === 'ending' && state.because !== 'failure' ? state.because : undefined;
}
