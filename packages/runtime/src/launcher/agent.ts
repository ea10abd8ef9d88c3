import { setTimeout as delay } from 'node:timers/promises';
import { msUntilKill, onRoundOver, onSignal, onTime, onWorkerFailed, peerGraceMs } from './supervision.ts';
import type { Decision, Supervision } from './supervision.ts';
import { Worker } from './worker.ts';
import type { WorkerOutcome, WorkerPlan } from './worker.ts';

/** How all workers of this node ended. */
export interface NodeOutcome {
  /** In the order of the plans. */
  workers: WorkerOutcome[];
  /** The signal that ended the job; undefined if a worker had failed before. */
  endedBy: NodeJS.Signals | undefined;
}

/**
 * Milliseconds between two checks of a process group without its leader, or of a worker that is writing a checkpoint.
 */
const lookAgainMs = 50;

/** Milliseconds to wait for a killed process group: processes in uninterruptible I/O may stay longer. */
const afterKillMs = 1000;

/** Workers that were started together. */
export interface StartedWorkers {
  /** Resolves when the first worker fails before the launcher has stopped it; may never resolve. */
  readonly failing: Promise<void>;
  /** Resolves when all workers and their child processes have ended. Does not reject if workers fail. */
  readonly ended: Promise<NodeOutcome>;
  /** Forwards a signal that ends the launcher. */
  onSignal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM, and SIGKILL after `withinMs`; to workers that are writing a checkpoint, after `savingWithinMs`. */
  end(withinMs: number, savingWithinMs?: number): void;
  /** From the first call on, the workers end by themselves if it is not called again within `withinMs`. */
  mustRenewWithin(withinMs: number): void;
}

/**
 * Starts the workers, and stops all their processes at the end. If a worker fails or the launcher receives a signal,
 * the process groups of all workers are stopped. Child processes that a finished worker leaves behind are stopped too.
 *
 * @param gracePeriodMs Time to end after a signal; for workers that are writing a checkpoint, also after a failure.
 */
export function startWorkers(plans: readonly WorkerPlan[], gracePeriodMs: number): StartedWorkers {
  let state: Supervision = { phase: 'running' };
  let killTimer: NodeJS.Timeout | undefined;
  let resolveFailing!: () => void;
  const failing = new Promise<void>((resolve) => (resolveFailing = resolve));
  const left = new Set<Worker>();

  return {
    failing,
    ended: untilAllHaveEnded(),
    onSignal: (signal) => {
      follow(onSignal(state, signal, performance.now(), gracePeriodMs));
    },
    end: (withinMs, savingWithinMs) => {
      follow(onRoundOver(state, performance.now(), withinMs, savingWithinMs));
    },
    mustRenewWithin: (withinMs) => {
      for (const worker of left) worker.mustRenewWithin(withinMs);
    },
  };

  async function untilAllHaveEnded(): Promise<NodeOutcome> {
    const workers = plans.map((plan) => {
      const worker = new Worker(plan);
      left.add(worker);
      return seeOff(worker);
    });
    const outcomes = await Promise.all(workers);
    clearTimeout(killTimer);
    return { workers: outcomes, endedBy: endedBy(state) };
  }

  function follow(decision: Decision): void {
    state = decision.state;
    const { send, sparesSaving = false } = decision;
    if (send) for (const worker of left) if (!sparesSaving || !worker.isSaving()) worker.signalGroup(send);
    if (state.phase === 'ending' && (send !== 'SIGKILL' || sparesSaving)) {
      clearTimeout(killTimer);
      killTimer = setTimeout(
        () => {
          follow(onTime(state, performance.now()));
        },
        sparesSaving ? lookAgainMs : msUntilKill(state, performance.now()),
      );
    }
  }

  async function seeOff(worker: Worker): Promise<WorkerOutcome> {
    const outcome = await worker.ended;
    if (outcome.exitCode !== 0) {
      if (state.phase === 'running') resolveFailing();
      follow(onWorkerFailed(state, performance.now(), gracePeriodMs));
    }
    await endLeftovers(worker);
    await worker.release();
    left.delete(worker);
    return outcome;
  }

  async function endLeftovers(worker: Worker): Promise<void> {
    if (!worker.groupIsLeft()) return;
    const own = { killAt: performance.now() + peerGraceMs, savingUntil: performance.now() + gracePeriodMs };
    if (state.phase === 'running') worker.signalGroup('SIGTERM');
    for (let killedAt = Infinity; worker.groupIsLeft() && performance.now() < killedAt + afterKillMs;) {
      await delay(lookAgainMs);
      const { killAt, savingUntil } = state.phase === 'ending' ? state : own;
      const at = worker.isSaving() ? Math.max(killAt, savingUntil) : killAt;
      if (killedAt === Infinity && performance.now() >= at) {
        worker.signalGroup('SIGKILL');
        killedAt = performance.now();
      }
    }
  }
}

function endedBy(state: Supervision): NodeJS.Signals | undefined {
  if (state.phase !== 'ending' || state.because === 'failure' || state.because === 'round over')
    return undefined;
  return state.because;
}
