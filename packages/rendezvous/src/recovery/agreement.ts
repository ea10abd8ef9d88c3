import { CollectiveTimeoutError, formatRanks, PeerDiedError } from '@ringrun/core';
import type { Clock } from '../clock.ts';
import { WaitReporter } from '../store/wait-reporter.ts';
import { decide } from './decide.ts';
import type { Formation, Process, Report } from './decide.ts';
import { jobEnded, rankRemoved, recoveryFailed } from './failures.ts';
import type { NumberedVerdict, RecoveryKeys } from './recovery-keys.ts';
import type { SignsOfLife } from './signs-of-life.ts';

/** Milliseconds between two polls of the store while the ranks agree. */
export const lookAgainMs = { first: 5, max: 200 };

/** A group of the job, which the next generation replaces. */
export interface Generation {
  readonly generation: number;
  readonly members: readonly Process[];
}

/** This process's part in the agreement on the next generation. */
export class Agreement {
  readonly #own: Process;
  readonly #keys: RecoveryKeys;
  readonly #signs: SignsOfLife;
  readonly #minRanks: number;
  readonly #timeoutMs: number;
  readonly #clock: Clock;

  constructor(
    own: Process,
    keys: RecoveryKeys,
    signs: SignsOfLife,
    { minRanks, timeoutMs, clock }: { minRanks: number; timeoutMs: number; clock: Clock },
  ) {
    this.#own = own;
    this.#keys = keys;
    this.#signs = signs;
    this.#minRanks = minRanks;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  /**
   * Leaves the current group. `failure`: the error if the group has failed; the rank that it shows to be dead is
   * recorded.
   */
  async leave(current: Generation, failure: unknown, report: Report): Promise<void> {
    await this.#blame(current, failure);
    await this.#keys.report(current.generation + 1, this.#own, report);
  }

  /** Agrees with the other members on the next generation. */
  async agree({ generation, members }: Generation): Promise<Formation> {
    const next = generation + 1;
    const since = this.#clock.now();
    const lines = this.#reporter();
    for (let pauseMs = lookAgainMs.first; ; pauseMs = Math.min(2 * pauseMs, lookAgainMs.max)) {
      const found = await this.#keys.newestVerdict();
      if (found !== undefined && found.generation >= next) return await this.#accept(found, next, members);
      const situation = await this.#keys.situation(next, members, this.#signs.isDead, this.#minRanks);
      const decision = decide(situation);
      if (decision.kind !== 'wait') {
        return await this.#accept(await this.#keys.propose(next, decision), next, members);
      }
      await this.#signs.observe(decision.missing);
      const waitedMs = this.#clock.now() - since;
      if (waitedMs > this.#timeoutMs) {
        // A rank that is stuck is removed at the timeout, as in a collective.
        for (const one of decision.missing) await this.#keys.setBlamed(next, one);
        continue;
      }
      const missing = formatRanks(decision.missing.map(({ rank }) => rank));
      lines.report(`${missing} to form the group again`, since, this.#timeoutMs);
      await this.#clock.delay(pauseMs);
    }
  }

  /** The newest verdict of the members on a later generation, for a process that waits to join. */
  async verdictOfMembers({ generation, members }: Generation): Promise<NumberedVerdict> {
    // Without a deadline: the members end their step first, or die.
    const lines = this.#reporter();
    const since = this.#clock.now();
    for (;;) {
      const found = await this.#keys.newestVerdict();
      if (found !== undefined && found.generation > generation) return found;
      const gone = await Promise.all(
        members.map(async (one) => one.token === this.#own.token || (await this.isGone(one))),
      );
      if (gone.every(Boolean)) throw jobEnded('all its ranks have ended');
      lines.report('the ranks of the running job to end their step', since, Infinity);
      await this.#clock.delay(lookAgainMs.max);
    }
  }

  #reporter(): WaitReporter {
    return new WaitReporter(`rank ${this.#own.rank}`, undefined, () => this.#clock.now());
  }

  /** Records the members of `before` that neither left nor take part in `next`: they are dead, stuck or cut off. */
  async recordRemoved(before: readonly Process[], next: readonly Process[]): Promise<void> {
    await this.#recordRemoved(before.filter(({ token }) => next.every((one) => one.token !== token)));
  }

  /** Records the members that are stuck at the end of the training, according to the failure of a rank that leaves. */
  async recordStuck({ members }: Generation, failure: unknown): Promise<void> {
    if (!(failure instanceof CollectiveTimeoutError)) return;
    for (const one of membersIn(failure, members)) await this.#keys.setRemoved(one);
  }

  async #recordRemoved(members: readonly Process[]): Promise<void> {
    for (const one of members) if (!(await this.#keys.isGone(one.token))) await this.#keys.setRemoved(one);
  }

  /** Whether a member has left the generation, or has died. */
  async isAbandoned({ generation, members }: Generation): Promise<boolean> {
    const { reports, left, dead } = await this.#keys.situation(
      generation + 1,
      members,
      this.#signs.isDead,
      this.#minRanks,
    );
    return reports.size + left.size + dead.size > 0;
  }

  /** Whether the process has died or left the job. */
  async isGone(one: Process): Promise<boolean> {
    return this.#signs.isDead(one) || (await this.#keys.isGone(one.token));
  }

  /** Records which rank a failure shows to be dead, unless that rank has reported. */
  async #blame({ generation, members }: Generation, failure: unknown): Promise<void> {
    const blamed = membersIn(failure, members);
    const next = generation + 1;
    const reports = await this.#keys.reports(next, blamed);
    for (const one of blamed) if (!reports.has(one.token)) await this.#keys.setBlamed(next, one);
  }

  async #accept(found: NumberedVerdict, next: number, members: readonly Process[]): Promise<Formation> {
    const { generation, verdict } = found;
    // The others have continued without this process, which was stopped or cut off.
    const isLate = generation > next;
    if (verdict.kind === 'fail') {
      if (!isLate) {
        const reports = await this.#keys.reports(generation, members);
        await this.#recordRemoved(members.filter(({ token }) => !reports.has(token)));
      }
      throw recoveryFailed(verdict.reason);
    }
    if (!isLate && verdict.members.some(({ token }) => token === this.#own.token)) return verdict;
    throw rankRemoved(this.#own.rank);
  }
}

/** The members that a failure shows to be dead or stuck. */
function membersIn(failure: unknown, members: readonly Process[]): Process[] {
  const ranks =
    failure instanceof PeerDiedError
      ? [failure.peer.rank]
      : failure instanceof CollectiveTimeoutError
        ? failure.missing.map(({ rank }) => rank)
        : [];
  return ranks.flatMap((rank) => members[rank] ?? []);
}
