import { systemClock } from '@ringrun/rendezvous';
import type { Clock } from '@ringrun/rendezvous';
import { awaitBlamed } from './blamed-workers.ts';
import type { Dismissal } from './loss-words.ts';
import { StragglerReport } from './straggler-report.ts';
import { msUntilKill, onRoundOver, onSignal, onTime, onWorkerFailed, peerGraceMs } from './supervision.ts';
import type { Decision, Supervision } from './supervision.ts';
import type { Survival } from './survival.ts';
import { Worker } from './worker.ts';
import type { SupervisedWorker, WorkerOutcome, WorkerPlan } from './worker.ts';

/** How all workers of this node ended. */
export interface NodeOutcome {
  /** In the order of the plans: the last worker of each, after the one that it has replaced. */
  workers: WorkerOutcome[];
  /** Failed workers without which the job continued, as far as they are in `workers`. */
  outlived: ReadonlySet<WorkerOutcome>;
  /** Number of all workers without which the job continued. */
  deaths: number;
  /** Replacements of failed workers that started too late to take part. */
  unneeded: ReadonlySet<WorkerOutcome>;
  /** The signal that ended the job; undefined if a worker had failed before. */
  endedBy: NodeJS.Signals | undefined;
}

/**
 * Milliseconds between two checks of a process group without its leader, or of a worker that is writing a checkpoint.
 */
const lookAgainMs = 50;

/** Milliseconds to wait for a killed process group: processes in uninterruptible I/O may stay longer. */
const afterKillMs = 1000;

/** What the supervision of workers needs. Simulations have their own. */
export interface Surroundings {
  readonly startWorker: (plan: WorkerPlan) => SupervisedWorker;
  readonly clock: Clock;
}

const processes: Surroundings = { startWorker: (plan) => new Worker(plan), clock: systemClock };

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
  { startWorker, clock }: Surroundings = processes,
): StartedWorkers {
  let state: Supervision = { phase: 'running' };
  let stopKillTimer: (() => void) | undefined;
  let resolveFailing!: () => void;
  const failing = new Promise<void>((resolve) => (resolveFailing = resolve));
  const ending = new AbortController();
  const left = new Set<SupervisedWorker>();
  const started = new Map<number | undefined, Promise<void>>();
  const running = new Map<WorkerPlan, SupervisedWorker>();
  const finished: WorkerPlan[] = [];
  const dismissed = new Map<WorkerPlan, Dismissal>();
  const outlived = new Set<WorkerOutcome>();
  let deaths = 0;
  const unneeded = new Set<WorkerOutcome>();
  const stragglers = new StragglerReport();
  const runningPlans = () => [...running.keys()];
  const onRemoved = (plan: WorkerPlan) => {
    dismiss(plan, 'removed');
  };
  survival.watchRemovals(runningPlans, onRemoved);

  return {
    failing,
    ended: untilAllHaveEnded(),
    onSignal: (signal) => {
      follow(onSignal(state, signal, clock.now(), gracePeriodMs));
    },
    end: (withinMs, savingWithinMs) => {
      follow(onRoundOver(state, clock.now(), withinMs, savingWithinMs));
    },
    mustRenewWithin: (withinMs) => {
      for (const worker of left) worker.mustRenewWithin(withinMs);
    },
  };

  async function untilAllHaveEnded(): Promise<NodeOutcome> {
    const outcomes = await Promise.all(plans.map(runWithReplacements));
    stopKillTimer?.();
    survival.stop();
    stragglers.stop();
    return { workers: outcomes.flat(), outlived, deaths, unneeded, endedBy: endedBy(state) };
  }

  function follow(decision: Decision): void {
    state = decision.state;
    const { send, sparesSaving = false } = decision;
    if (state.phase === 'ending') ending.abort();
    if (send) for (const worker of left) if (!sparesSaving || !worker.isSaving()) worker.signalGroup(send);
    if (state.phase === 'ending' && (send !== 'SIGKILL' || sparesSaving)) {
      stopKillTimer?.();
      const ms = sparesSaving ? lookAgainMs : msUntilKill(state, clock.now());
      stopKillTimer = clock.after(ms, () => {
        follow(onTime(state, clock.now()));
      });
    }
  }

  async function runWithReplacements(first: WorkerPlan): Promise<WorkerOutcome[]> {
    const outcomes: WorkerOutcome[] = [];
    for (let plan: WorkerPlan | undefined = first; plan !== undefined;) {
      // Its predecessor may have needed longer to end than the training.
      if (plan !== first && (await survival.unneeded([...runningPlans(), plan])).length > 0) break;
      const worker = startWorker(plan);
      left.add(worker);
      started.set(
        worker.pid,
        worker.ended.then(() => undefined),
      );
      running.set(plan, worker);
      const [outcome, replacement]: [WorkerOutcome, WorkerPlan | undefined] = await seeOff(worker, plan);
      outcomes.push(outcome);
      if (outcomes.length > 2) outlived.delete(outcomes.shift()!);
      plan = replacement;
    }
    return outcomes;
  }

  /** Resolves with the worker's end and the plan of its replacement. */
  async function seeOff(
    worker: SupervisedWorker,
    plan: WorkerPlan,
  ): Promise<[outcome: WorkerOutcome, replacement: WorkerPlan | undefined]> {
    const outcome = await worker.ended;
    running.delete(plan);
    let replacement: WorkerPlan | undefined;
    const dismissal = dismissed.get(plan);
    dismissed.delete(plan);
    if (dismissal === 'unneeded') unneeded.add(outcome);
    else if (outcome.exitCode === 0 && dismissal === undefined) onFinished(plan);
    else replacement = await onFailure(outcome, plan, dismissal === 'removed');
    if (state.phase === 'running') await dismissUnneeded();
    if (finished.length > 0) stragglers.report([...running.values()]);
    await endLeftovers(worker);
    await worker.release();
    left.delete(worker);
    return [outcome, state.phase === 'running' ? replacement : undefined];
  }

  function onFinished(plan: WorkerPlan): void {
    finished.push(plan);
    void survival.watchEnd(runningPlans, onRemoved);
  }

  async function onFailure(
    outcome: WorkerOutcome,
    plan: WorkerPlan,
    isRemoved: boolean,
  ): Promise<WorkerPlan | undefined> {
    if (state.phase === 'running') {
      const workers = { running: runningPlans(), finished };
      const { kind, replacement } = await survival.onLoss(outcome, plan, workers, isRemoved);
      if (kind === 'unneeded') unneeded.add(outcome);
      if (kind === 'outlived' || kind === 'replaced') {
        outlived.add(outcome);
        deaths += 1;
      }
      if (kind !== 'fatal') return replacement;
    }
    if (state.phase === 'running') {
      await awaitBlamed(outcome, started, clock, ending.signal);
      resolveFailing();
    }
    follow(onWorkerFailed(state, clock.now(), gracePeriodMs));
    return undefined;
  }

  async function dismissUnneeded(): Promise<void> {
    for (const plan of await survival.unneeded(runningPlans())) dismiss(plan, 'unneeded');
  }

  /** Stops one worker while the job continues. */
  function dismiss(plan: WorkerPlan, why: Dismissal): void {
    const worker = running.get(plan);
    if (worker === undefined || worker.hasDied() || state.phase !== 'running' || dismissed.has(plan)) return;
    dismissed.set(plan, why);
    survival.reportDismissal(worker, why);
    worker.signalGroup('SIGTERM');
    const cancel = clock.after(peerGraceMs, () => {
      if (running.has(plan)) worker.signalGroup('SIGKILL');
    });
    void worker.ended.then(cancel);
  }

  async function endLeftovers(worker: SupervisedWorker): Promise<void> {
    if (!worker.groupIsLeft()) return;
    const own = { killAt: clock.now() + peerGraceMs, savingUntil: clock.now() + gracePeriodMs };
    if (state.phase === 'running') worker.signalGroup('SIGTERM');
    for (let killedAt = Infinity; worker.groupIsLeft() && clock.now() < killedAt + afterKillMs;) {
      await clock.delay(lookAgainMs);
      const { killAt, savingUntil } = state.phase === 'ending' ? state : own;
      const at = worker.isSaving() ? Math.max(killAt, savingUntil) : killAt;
      if (killedAt === Infinity && clock.now() >= at) {
        worker.signalGroup('SIGKILL');
        killedAt = clock.now();
      }
    }
  }
}

function endedBy(state: Supervision): NodeJS.Signals | undefined {
  if (state.phase !== 'ending' || state.because === 'failure' || state.because === 'round over')
    return undefined;
  return state.because;
}
