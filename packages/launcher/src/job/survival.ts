import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { longestTimerMs, RingrunError } from '@ringrun/core';
import { systemClock } from '@ringrun/rendezvous';
import type { Clock, Job } from '@ringrun/rendezvous';
import type { Round } from '@ringrun/rendezvous/rounds';
import { hasRecoveryMark } from '../worker/recovery-mark.ts';
import { savingMarkOf } from '../worker/saving-mark.ts';
import { removeRecords, removeSocket, replacementFile } from './worker-files.ts';
import { readErrorRecord } from '../worker/read-error-record.ts';
import type { ErrorRecord } from '../worker/error-record.ts';
import { FaultTolerantJob } from './fault-tolerant-job.ts';
import { describeDismissal, describeLoss } from './loss-words.ts';
import type { Dismissal } from './loss-words.ts';
import { judgeLoss } from './loss.ts';
import type { LossKind, LossOfJob } from './loss.ts';
import type { WorkerOutcome, WorkerPlan } from './worker.ts';

/** The variable with which a worker names itself in the job's store. */
export const workerIdVariable = 'RINGRUN_WORKER_ID';

/** Codes of errors with which a worker ends that the job does not need. */
const notNeeded: ReadonlySet<string> = new Set(['ERR_JOB_ENDED', 'ERR_RANK_REMOVED']);

/** Milliseconds between two checks whether the workers belong to a fault-tolerant job. */
const lookForMarkMs = 1000;

/** What follows from the end of a worker. */
export interface Loss {
  readonly kind: LossKind;
  readonly replacement?: WorkerPlan;
}

/** What a launcher can read about its workers. Simulations have their own. */
export interface SurvivalSources {
  /** @throws RingrunError if the job's store does not answer. */
  connect(round: Round): Promise<FaultTolerantJob>;
  /** Whether the worker has made the job fault-tolerant. */
  isFaultTolerant(plan: WorkerPlan): boolean;
  errorOf(plan: WorkerPlan, pid: number | undefined): ErrorRecord | undefined;
  readonly clock: Pick<Clock, 'after' | 'every'>;
}

const sources: SurvivalSources = {
  connect: async (round) => await FaultTolerantJob.connect(round),
  isFaultTolerant: ({ environment }) => hasRecoveryMark(environment['RINGRUN_ERROR_FILE']),
  errorOf: ({ environment }, pid) => {
    const errorFile = environment['RINGRUN_ERROR_FILE'];
    return errorFile === undefined ? undefined : readErrorRecord(errorFile, pid);
  },
  clock: systemClock,
};

/** The workers of this node. */
export interface NodeWorkers {
  readonly running: readonly WorkerPlan[];
  /** Those that have ended with 0. */
  readonly finished: readonly WorkerPlan[];
}

/** Keeps a fault-tolerant job running after workers have died. */
export class Survival {
  readonly #round: Round;
  readonly #report: (what: string) => void;
  readonly #sources: SurvivalSources;
  /** Those that have not been replaced themselves. */
  readonly #replacements = new Set<string>();
  #restarts = 0;
  /** By rank, the processes that have ended whose keys are still in the store. */
  readonly #ended = new Map<number, readonly string[]>();
  /** By rank, the error file of the last process that has ended. */
  readonly #lastRecords = new Map<number, string>();
  readonly #over = new AbortController();
  #isFaultTolerant = false;
  #isEndWatched = false;
  #restartsLeft: number;

  /**
   * @param restartsLeft Number of dead processes that may be replaced.
   * @param report Receives a line when the job continues without a process.
   */
  constructor(
    round: Round,
    restartsLeft: number,
    report: (what: string) => void,
    from: SurvivalSources = sources,
  ) {
    this.#round = round;
    this.#sources = from;
    this.#report = report;
    this.#restartsLeft = restartsLeft;
  }

  /** Number of dead processes that were replaced. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * Judges the end of a worker that did not finish.
   *
   * @param isRemoved Whether the launcher ended it because the other ranks had removed it.
   */
  async onLoss(
    outcome: WorkerOutcome,
    plan: WorkerPlan,
    workers: NodeWorkers,
    isRemoved: boolean,
  ): Promise<Loss> {
    if (!this.#looksFaultTolerant([plan, ...workers.running, ...workers.finished])) return { kind: 'fatal' };
    const record = this.#sources.errorOf(plan, outcome.pid);
    const isOwnError = outcome.signal === null && !isRemoved && !notNeeded.has(record?.code ?? '');
    const found = await this.#withJob(async (job) => {
      const loss = await this.#afterLoss(job, plan, workers);
      if (loss !== undefined) await this.#forgetBefore(job, plan, loss);
      return loss;
    });
    const kind = judgeLoss({
      job: found?.job,
      hasFinished: found?.hasFinished ?? workers.finished.length > 0,
      isOwnError,
      mayReplace: this.#restartsLeft > 0,
    });
    const replacement = kind === 'replaced' ? this.#replace(plan, outcome.pid) : undefined;
    if (kind !== 'fatal') {
      const restart = `restart ${this.restarts} of ${this.restarts + this.#restartsLeft}`;
      this.#report(describeLoss(outcome, kind, record, restart));
    }
    return replacement === undefined ? { kind } : { kind, replacement };
  }

  /** The processes that need not run any more: the training has ended, and all workers of this node that took part in it. */
  async unneeded(running: readonly WorkerPlan[]): Promise<readonly WorkerPlan[]> {
    const areReplacements = running.length > 0 && running.every((one) => this.#replacements.has(idOf(one)));
    if (!areReplacements) return [];
    const areUnneeded = await this.#withJob(async (job) => {
      const state = await job.read();
      if (state?.phase !== 'ending') return false;
      const here = new Set(running.map(idOf));
      if (state.members.some(({ token }) => here.has(token))) return false;
      return this.#round.groupWorldSize === 1 || state.living.length === 0;
    });
    return areUnneeded === true ? running : [];
  }

  /** The launcher stops a worker while the others continue. */
  reportDismissal(worker: { rank: number; pid: number | undefined }, why: Dismissal): void {
    this.#report(describeDismissal(worker, why));
  }

  /**
   * A worker has finished: the training has ended, so the others of its group leave it within the timeout of the group. Calls
   * `onStuck` for each that does not.
   */
  async watchEnd(running: () => readonly WorkerPlan[], onStuck: (plan: WorkerPlan) => void): Promise<void> {
    if (this.#isEndWatched || !this.#looksFaultTolerant(running())) return;
    this.#isEndWatched = true;
    const state = await this.#withJob((job) => job.read());
    const limitMs = state?.timeoutMs ?? Infinity;
    if (state === undefined || limitMs > longestTimerMs || this.#over.signal.aborted) return;
    const cancel = this.#sources.clock.after(limitMs, () => {
      void this.#withJob(async (job) => {
        for (const plan of running()) {
          const isMember = state.members.some(({ token }) => token === idOf(plan));
          if (isMember && !(await job.hasDeparted(state, idOf(plan)))) onStuck(plan);
        }
      });
    });
    this.#over.signal.addEventListener('abort', cancel);
  }

  /** Calls `onRemoved` for each worker that the other ranks have removed. Ends with `stop`. */
  watchRemovals(running: () => readonly WorkerPlan[], onRemoved: (plan: WorkerPlan) => void): void {
    const watched = new WeakSet<WorkerPlan>();
    let job: Promise<FaultTolerantJob | undefined> | undefined;
    const stop = this.#sources.clock.every(lookForMarkMs, () => {
      const plans = running();
      if (!this.#looksFaultTolerant(plans)) return;
      job ??= this.#sources.connect(this.#round).catch(() => undefined);
      for (const plan of plans) {
        if (watched.has(plan)) continue;
        watched.add(plan);
        void job
          .then((connected) => connected?.untilRemoved(idOf(plan)))
          .then((isRemoved) => {
            if (isRemoved === true) onRemoved(plan);
          });
      }
    });
    this.#over.signal.addEventListener('abort', () => {
      stop();
      void job?.then((connected) => connected?.close());
    });
  }

  stop(): void {
    this.#over.abort();
  }

  /** Reports a death to the other ranks, and reads from the store what it means for them. */
  async #afterLoss(
    job: FaultTolerantJob,
    plan: WorkerPlan,
    { running, finished }: NodeWorkers,
  ): Promise<{ job: LossOfJob; hasFinished: boolean; state: Job } | undefined> {
    const token = idOf(plan);
    await job.setGone(token);
    const state = await job.read();
    if (state === undefined) return undefined;
    const left = await Promise.all(finished.map((one) => job.hasLeft(state, idOf(one))));
    const isMember = state.members.some((one) => one.token === token);
    const wasRank = isMember || !this.#replacements.has(token) || (await job.wasAdmitted(state, token));
    const othersRemain = await this.#othersRemain(job, state, token, running);
    return {
      job: { phase: state.phase, isOutside: !wasRank, othersRemain },
      hasFinished: left.includes(true),
      state,
    };
  }

  /**
   * Deletes the keys of processes that ended before this one of the same rank did, which was a member: they are in no later group.
   * Their launcher is the last one to read them. Without an answer, tries again after the next death.
   */
  async #forgetBefore(
    job: FaultTolerantJob,
    { rank }: WorkerPlan,
    loss: { job: LossOfJob; state: Job },
  ): Promise<void> {
    const before = this.#ended.get(rank) ?? [];
    if (loss.job.isOutside || loss.state.members.some(({ token }) => before.includes(token))) return;
    try {
      for (const token of before) await job.forget(loss.state, token);
      this.#ended.delete(rank);
    } catch (error) {
      if (!(error instanceof RingrunError)) throw error;
    }
  }

  /** Whether another member runs on this node, or may run or have finished on another one. */
  async #othersRemain(
    job: FaultTolerantJob,
    state: Job,
    token: string,
    running: readonly WorkerPlan[],
  ): Promise<boolean> {
    const here = new Set(running.map(idOf));
    const others = state.members.filter((one) => one.token !== token);
    if (others.some((one) => here.has(one.token))) return true;
    // A rank may have left before the last one formed its group again.
    const haveLeft = await Promise.all(running.map((one) => job.hasLeft(state, idOf(one))));
    if (haveLeft.includes(true)) return true;
    if (this.#round.groupWorldSize === 1) return false;
    const areLost = await Promise.all(
      others.map(
        async (one) =>
          (await job.isGone(one.token)) ||
          (state.phase === 'training' && (await job.hasLeft(state, one.token))),
      ),
    );
    return areLost.includes(false);
  }

  /** Undefined if the store does not answer. */
  async #withJob<Result>(use: (job: FaultTolerantJob) => Promise<Result>): Promise<Result | undefined> {
    try {
      const job = await this.#sources.connect(this.#round);
      try {
        return await use(job);
      } finally {
        await job.close();
      }
    } catch (error) {
      if (!(error instanceof RingrunError)) throw error;
      process.stderr.write(`ringrun: the store of the job did not answer: ${error.message}\n`);
      return undefined;
    }
  }

  #replace(plan: WorkerPlan, pid: number | undefined): WorkerPlan {
    this.#restartsLeft -= 1;
    this.#restarts += 1;
    const id = randomUUID();
    this.#replacements.delete(idOf(plan));
    this.#replacements.add(id);
    const { rank, environment } = plan;
    this.#ended.set(rank, [...(this.#ended.get(rank) ?? []), idOf(plan)]);
    const errorFile = this.#nextErrorFile(plan, pid);
    const renewed = { ...environment, [workerIdVariable]: id, RINGRUN_ERROR_FILE: errorFile };
    return { ...plan, environment: renewed, savingMark: errorFile && savingMarkOf(errorFile) };
  }

  /** Keeps the records of the last process of each rank that has ended, which may become the root cause of the job's end. */
  #nextErrorFile({ rank, environment }: WorkerPlan, pid: number | undefined): string | undefined {
    const ended = environment['RINGRUN_ERROR_FILE'];
    if (ended === undefined) return undefined;
    const before = this.#lastRecords.get(rank);
    if (before !== undefined) removeRecords(before);
    if (pid !== undefined) removeSocket(dirname(ended), rank, pid);
    this.#lastRecords.set(rank, ended);
    return replacementFile(ended, this.restarts);
  }

  #looksFaultTolerant(plans: readonly WorkerPlan[]): boolean {
    this.#isFaultTolerant ||= plans.some((plan) => this.#sources.isFaultTolerant(plan));
    return this.#isFaultTolerant;
  }
}

function idOf({ environment }: WorkerPlan): string {
  return environment[workerIdVariable] ?? '';
}
