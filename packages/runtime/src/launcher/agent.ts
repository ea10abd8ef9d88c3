import { setTimeout as delay } from 'node:timers/promises';
import { msUntilKill, onRoundOver, onSignal, onTime, onWorkerFailed, peerGraceMs } from './supervision.ts';
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

/** Milliseconds between two looks at a process group whose leader has ended, and at a worker that is writing a checkpoint. */
const lookAgainMs = 50;

/** Milliseconds until a killed process group is given up: the kernel holds what is left of it (uninterruptible I/O). */
const afterKillMs = 1000;

/** Workers that were started together. */
export interface StartedWorkers {
  /** Resolves as soon as one has failed although nobody had told it to end; may never resolve. */
  readonly failing: Promise<void>;
  /** Resolves when all have ended with everything that they had started. Never rejects because of what workers do. */
  readonly ended: Promise<NodeOutcome>;
  /** Passes on a signal that asks the launcher to end. */
  onSignal(signal: NodeJS.Signals): void;
  /** Tells them to end because others go on without them, and kills what is left after `withinMs`; those that are writing a checkpoint after `savingWithinMs`. */
  end(withinMs: number, savingWithinMs?: number): void;
}

/**
 * Starts the workers, and sees to it that nothing which they started is left: when one fails or the launcher is told to end, the process groups of the
 * others are ended too; what a worker leaves behind when it ends well, as well.
 *
 * @param gracePeriodMs What they get to end after a signal, and those that are writing a checkpoint after the failure of another, too.
 */
export function startWorkers(plans: readonly WorkerPlan[], gracePeriodMs: number): StartedWorkers {
  let state: Supervision = { phase: 'running' };
  let killTimer: NodeJS.Timeout | undefined;
  let tellFailing!: () => void;
  const failing = new Promise<void>((resolve) => (tellFailing = resolve));
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
      if (state.phase === 'running') tellFailing();
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
