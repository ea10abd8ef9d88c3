import { CollectiveTimeoutError, formatRanks, PeerDiedError } from '@ringrun/core';
import type { Clock } from '../clock.ts';
import { signIntervalMs } from './signs-of-life.ts';
import { WaitReporter } from '../store/wait-reporter.ts';
import { decide } from './decide.ts';
import type { Formation, Process, Report } from './decide.ts';
import { jobEnded, rankRemoved, recoveryFailed } from './failures.ts';
import type { NumberedVerdict, RecoveryKeys } from './recovery-keys.ts';
import type { SignsOfLife } from './signs-of-life.ts';

/** Milliseconds between two polls of the store by the rank that decides. */
const lookAgainMs = { first: 5, max: 200 };

/** Milliseconds without a sign of life after which another rank decides. To decide twice is harmless. */
const deciderSilentMs = 3000;

/** Milliseconds between two polls of one of many ranks: together they poll at most 1000 times in a second. */
function pollMs(ranks: number): number {
  return Math.max(lookAgainMs.max, ranks);
}

/** A group of the job, which the next generation replaces. */
export interface Generation {
  readonly generation: number;
  readonly members: readonly Process[];
}

/**
 * This process's part in the agreement on the next generation. The first process that has left the current one decides, for all:
 * it alone reads the reports of the others, which wait for its decision. If it dies, one of them takes its place. A verdict is
 * recorded at most once for a generation (`RecoveryKeys.propose`), however many processes believe that they decide.
 */
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
    await this.#blame(current, membersIn(failure, current.members));
    await this.#keys.report(current.generation + 1, this.#own, report);
  }

  /** Agrees with the other members on the next generation. */
  async agree(current: Generation): Promise<Formation> {
    const next = current.generation + 1;
    for (let dead = ''; ;) {
      const decider = await this.#keys.electDecider(next, dead, this.#own);
      if (decider === this.#own.token) return this.#accept(await this.#decide(current), next);
      const found = await this.#decisionOf(decider, current);
      if (found !== undefined) return this.#accept(found, next);
      dead = decider;
    }
  }

  /** Reads the reports of all members, and publishes the verdict. */
  async #decide({ generation, members }: Generation): Promise<NumberedVerdict> {
    const next = generation + 1;
    const since = this.#clock.now();
    const lines = this.#reporter();
    for (let pauseMs = lookAgainMs.first; ; pauseMs = Math.min(2 * pauseMs, lookAgainMs.max)) {
      const found = await this.#keys.newestVerdict();
      if (found !== undefined && found.generation >= next) return await this.#publish(found, next, members);
      const situation = await this.#keys.situation(next, members, this.#signs.isDead, this.#minRanks);
      const decision = decide(situation);
      if (decision.kind !== 'wait') {
        return await this.#publish(await this.#keys.propose(next, decision), next, members);
      }
      await this.#signs.observe(decision.missing);
      const waitedMs = this.#clock.now() - since;
      if (waitedMs > this.#timeoutMs) {
        // A rank that is stuck is removed at the timeout, as in a collective.
        await this.#keys.setBlamed(next, decision.missing);
        continue;
      }
      const missing = formatRanks(decision.missing.map(({ rank }) => rank));
      lines.report(`${missing} to form the group again`, since, this.#timeoutMs);
      await this.#clock.delay(pauseMs);
    }
  }

  async #publish(
    found: NumberedVerdict,
    next: number,
    members: readonly Process[],
  ): Promise<NumberedVerdict> {
    // The others have continued without this process, which was stopped or cut off.
    if (found.generation > next) return found;
    const { verdict } = found;
    const stay =
      verdict.kind === 'form'
        ? new Set(verdict.members.map(({ token }) => token))
        : new Set((await this.#keys.reports(next, members)).keys());
    await this.#recordRemoved(members.filter(({ token }) => !stay.has(token)));
    await this.#keys.publish(found, members);
    return found;
  }

  /** The decision of another process. Undefined if another one must decide, because it has died or is stopped. */
  async #decisionOf(decider: string, current: Generation): Promise<NumberedVerdict | undefined> {
    const { generation, members } = current;
    const next = generation + 1;
    const since = this.#clock.now();
    const lines = this.#reporter();
    const one = members.find(({ token }) => token === decider);
    const silentMs = Math.max(deciderSilentMs, 3 * signIntervalMs(members.length));
    let last: { sign: string | undefined; at: number } | undefined;
    let seenDead = 0;
    for (;;) {
      const found = await this.#keys.published(next, members, pollMs(members.length));
      if (found !== undefined) return found;
      // The process that decides cannot detect a death on another host.
      const dead = members.filter(this.#signs.isDead);
      if (dead.length > seenDead) await this.#blame(current, dead);
      seenDead = dead.length;
      if (one === undefined || (await this.isGone(one))) return undefined;
      const [now, sign] = await this.#keys.decider(next, one);
      // Another process has taken its place, or the keys of the generation were deleted.
      if (now !== decider) return undefined;
      if (last?.sign !== sign || last === undefined) last = { sign, at: this.#clock.now() };
      else if (this.#clock.now() - last.at > silentMs) return undefined;
      lines.report(`rank ${one.rank} to decide how the group is formed again`, since, this.#timeoutMs);
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
      const present = await this.#keys.presentAmong(members);
      if (!present.some((one) => one.token !== this.#own.token && !this.#signs.isDead(one)))
        throw jobEnded('all its ranks have ended');
      lines.report('the ranks of the running job to end their step', since, Infinity);
      await this.#clock.delay(pollMs(members.length));
    }
  }

  #reporter(): WaitReporter {
    return new WaitReporter(`rank ${this.#own.rank}`, undefined, () => this.#clock.now());
  }

  /** Records the members that are stuck at the end of the training, according to the failure of a rank that leaves. */
  async recordStuck({ members }: Generation, failure: unknown): Promise<void> {
    if (!(failure instanceof CollectiveTimeoutError)) return;
    await this.#keys.setRemoved(membersIn(failure, members));
  }

  /** Records the processes that have neither left nor died: they are stuck or cut off. */
  async #recordRemoved(processes: readonly Process[]): Promise<void> {
    await this.#keys.setRemoved(await this.#keys.presentAmong(processes));
  }

  /**
   * Resolves when a member has left the generation, or has died; rejects when the signal aborts. Each member watches the next one
   * for all others.
   */
  async untilAbandoned({ generation, members }: Generation, over: AbortSignal): Promise<void> {
    const next = generation + 1;
    const place = members.findIndex(({ token }) => token === this.#own.token);
    const neighbour = members[(place + 1) % members.length];
    while (!(await this.#keys.isAbandoned(next, pollMs(members.length)))) {
      over.throwIfAborted();
      if (members.some(this.#signs.isDead) || (await this.#keys.isMissing(next, neighbour)))
        await this.#keys.setAbandoned(next);
    }
  }

  /** Whether the process has died or left the job. */
  async isGone(one: Process): Promise<boolean> {
    return this.#signs.isDead(one) || (await this.#keys.isGone(one.token));
  }

  /** Records that processes seem to be dead, unless they have reported. */
  async #blame({ generation }: Generation, blamed: readonly Process[]): Promise<void> {
    if (blamed.length === 0) return;
    const next = generation + 1;
    const reports = await this.#keys.reports(next, blamed);
    await this.#keys.setBlamed(
      next,
      blamed.filter(({ token }) => !reports.has(token)),
    );
  }

  #accept({ generation, verdict }: NumberedVerdict, next: number): Formation {
    if (verdict.kind === 'fail') throw recoveryFailed(verdict.reason);
    if (generation === next && verdict.members.some(({ token }) => token === this.#own.token)) return verdict;
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
