import { setTimeout as delay } from 'node:timers/promises';
import { msUntilKill, onRoundOver, onSignal, onTime, onWorkerFailed, peerGraceMs } from './supervision.ts';
import type { Decision, Supervision } from './supervision.ts';
import type { Survival } from './survival.ts';
import { Worker } from './worker.ts';
import type { WorkerOutcome, WorkerPlan } from './worker.ts';

/** How all workers of this node ended. */
export interface NodeOutcome {
  /** In the order of the plans, each followed by its replacements. */
  workers: WorkerOutcome[];
  /** Failed workers without which the job continued. */
  outlived: ReadonlySet<WorkerOutcome>;
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
 * the process groups of all workers are stopped. Child processes that outlive a finished worker are stopped too.
 *
 * @param gracePeriodMs Time to end after a signal; also after a failure for workers that are writing a checkpoint.
 * @param survival Decides whether the other workers continue after a failure.
 */
export function startWorkers(
  plans: readonly WorkerPlan[],
  gracePeriodMs: number,
  survival: Survival,
): StartedWorkers {
  let state: Supervision = { phase: 'running' };
  let killTimer: NodeJS.Timeout | undefined;
  let resolveFailing!: () => void;
  const failing = new Promise<void>((resolve) => (resolveFailing = resolve));
  const left = new Set<Worker>();
  const running = new Set<WorkerPlan>();
  const outlived = new Set<WorkerOutcome>();
  let finished = 0;

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
    const outcomes = await Promise.all(plans.map(runWithReplacements));
    clearTimeout(killTimer);
    return { workers: outcomes.flat(), outlived, endedBy: endedBy(state) };
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

  async function runWithReplacements(first: WorkerPlan): Promise<WorkerOutcome[]> {
    const outcomes: WorkerOutcome[] = [];
    for (let plan: WorkerPlan | undefined = first; plan !== undefined;) {
      const worker = new Worker(plan);
      left.add(worker);
      running.add(plan);
      const [outcome, replacement]: [WorkerOutcome, WorkerPlan | undefined] = await seeOff(worker, plan);
      outcomes.push(outcome);
      plan = replacement;
    }
    return outcomes;
  }

  /** Resolves with the worker's end and the plan of its replacement. */
  async function seeOff(
    worker: Worker,
    plan: WorkerPlan,
  ): Promise<[outcome: WorkerOutcome, replacement: WorkerPlan | undefined]> {
    const outcome = await worker.ended;
    running.delete(plan);
    let replacement: WorkerPlan | undefined;
    if (outcome.exitCode === 0) finished += 1;
    else replacement = await onFailure(outcome, plan);
    await endLeftovers(worker);
    await worker.release();
    left.delete(worker);
    return [outcome, state.phase === 'running' ? replacement : undefined];
  }

  async function onFailure(outcome: WorkerOutcome, plan: WorkerPlan): Promise<WorkerPlan | undefined> {
    if (state.phase === 'running') {
      const { isOutlived, replacement } = await survival.onLoss(outcome, plan, [...running], finished);
      if (isOutlived) {
        outlived.add(outcome);
        return replacement;
      }
    }
    if (state.phase === 'running') resolveFailing();
    follow(onWorkerFailed(state, performance.now(), gracePeriodMs));
    return undefined;
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
