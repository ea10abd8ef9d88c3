import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { RingrunError } from '@ringrun/core';
import type { Round } from '@ringrun/rendezvous/rounds';
import { recoveryMarkOf } from '../worker/recovery-mark.ts';
import { savingMarkOf } from '../worker/saving-mark.ts';
import { readErrorRecord } from '../worker/read-error-record.ts';
import type { WorkerOutcome, WorkerPlan } from './worker.ts';

/** Milliseconds in which the job's store must answer. */
const maxAnswerMs = 5000;

/** The variable with which a worker names itself in the job's store. */
export const workerIdVariable = 'RINGRUN_WORKER_ID';

/** Decision after a worker has failed. */
export interface Loss {
  /** Whether the other workers continue without it. */
  readonly isOutlived: boolean;
  /** Its replacement. */
  readonly replacement?: WorkerPlan;
}

/** Keeps a fault-tolerant job running after workers have died. */
export class Survival {
  readonly #round: Round;
  readonly #onLoss: (what: string) => void;
  #restartsLeft: number;
  #restarts = 0;

  /**
   * @param restartsLeft Number of dead processes that may be replaced.
   * @param onLoss Receives a line when the job continues without a process.
   */
  constructor(round: Round, restartsLeft: number, onLoss: (what: string) => void) {
    this.#round = round;
    this.#onLoss = onLoss;
    this.#restartsLeft = restartsLeft;
  }

  /** Number of dead processes that were replaced. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * @param running Plans of the workers of this node that still run.
   * @param finished Number of workers of this node that have ended with 0.
   */
  async onLoss(
    outcome: WorkerOutcome,
    plan: WorkerPlan,
    running: readonly WorkerPlan[],
    finished: number,
  ): Promise<Loss> {
    if (![plan, ...running].some(isFaultTolerant)) return { isOutlived: false };
    const errorFile = plan.environment['RINGRUN_ERROR_FILE'];
    const record = errorFile === undefined ? undefined : readErrorRecord(errorFile, outcome.pid);
    // The failure came too late: the others have finished.
    if (record?.code === 'ERR_JOB_ENDED') return { isOutlived: finished > 0 };
    const isOutlived = finished > 0 ? outcome.signal !== null : await this.#isOutlived(plan, running);
    if (!isOutlived) return { isOutlived };
    const replacement = finished === 0 ? this.#replace(plan) : undefined;
    const end = outcome.signal
      ? `was killed by ${outcome.signal}`
      : `ended with exit code ${outcome.exitCode ?? 'unknown'}${record === undefined ? '' : `: ${record.message.split('\n')[0]}`}`;
    const next =
      replacement === undefined
        ? 'the job continues without it'
        : `the job continues, and rank ${plan.rank} is restarted (restart ${this.#restarts} of ${this.#restarts + this.#restartsLeft})`;
    this.#onLoss(`rank ${plan.rank} (pid ${outcome.pid}) ${end}; ${next}`);
    return replacement === undefined ? { isOutlived } : { isOutlived, replacement };
  }

  /** Reports its death to the other ranks, and returns whether any are left. */
  async #isOutlived(plan: WorkerPlan, running: readonly WorkerPlan[]): Promise<boolean> {
    const { storeEndpoint, restartCount, groupWorldSize } = this.#round;
    // Loaded only if a worker of a fault-tolerant job dies.
    const { connectStore, goneKey, parseEndpoint, PrefixStore, runningJob } =
      await import('@ringrun/rendezvous');
    try {
      const at = parseEndpoint(storeEndpoint, 'RINGRUN_STORE');
      const store = await connectStore({ ...at, timeoutMs: maxAnswerMs, log: () => undefined });
      try {
        const keys = new PrefixStore(`restart/${restartCount}`, store);
        await keys.set(goneKey(idOf(plan)), '');
        const job = await runningJob(keys);
        if (job === undefined) return false;
        const here = new Set(running.map(idOf));
        if (job.members.some(({ token }) => here.has(token))) return true;
        if (groupWorldSize === 1) return false;
        const areGone = job.members.map(async ({ token }) => await keys.check([goneKey(token)]));
        return (await Promise.all(areGone)).includes(false);
      } finally {
        await store.close();
      }
    } catch (error) {
      if (!(error instanceof RingrunError)) throw error;
      process.stderr.write(`ringrun: the store of the job did not answer: ${error.message}\n`);
      return false;
    }
  }

  #replace(plan: WorkerPlan): WorkerPlan | undefined {
    if (this.#restartsLeft <= 0) return undefined;
    this.#restartsLeft -= 1;
    this.#restarts += 1;
    const { environment } = plan;
    const before = environment['RINGRUN_ERROR_FILE'];
    const errorFile = before === undefined ? undefined : `${before}.${this.#restarts}`;
    const renewed = { ...environment, [workerIdVariable]: randomUUID(), RINGRUN_ERROR_FILE: errorFile };
    return { ...plan, environment: renewed, savingMark: errorFile && savingMarkOf(errorFile) };
  }
}

function idOf({ environment }: WorkerPlan): string {
  return environment[workerIdVariable] ?? '';
}

function isFaultTolerant({ environment }: WorkerPlan): boolean {
  const errorFile = environment['RINGRUN_ERROR_FILE'];
  return errorFile !== undefined && existsSync(recoveryMarkOf(errorFile));
}
