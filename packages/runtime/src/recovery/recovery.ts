import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CollectiveTimeoutError,
  HashStore,
  PeerDiedError,
  ReduceOp,
  RingrunError,
  StoreTimeoutError,
  createCpuGroup,
} from '@ringrun/collectives';
import type { ProcessGroup, RankIdentity } from '@ringrun/collectives';
import type { MembershipChange } from '@ringrun/core';
import { formatRanks, goodbyeMs } from '../process-group/membership.ts';
import type { Session } from '../process-group/session.ts';
import { currentState, enterState } from '../process-group/state.ts';
import { Subgroups } from '../process-group/subgroups.ts';
import { formatDuration } from '../store/wait-reporter.ts';
import { AbandonableStore } from './abandonable-store.ts';
import { decide } from './decide.ts';
import type { Formation, Process, Report, Situation } from './decide.ts';
import { processSpace } from './process-space.ts';
import { setRecoveryMark } from './recovery-mark.ts';
import { RecoveryKeys } from './recovery-keys.ts';
import type { RunningJob, Verdict } from './recovery-keys.ts';
import { SignsOfLife } from './signs-of-life.ts';
import { receiveState, sendState } from './state-transfer.ts';
import type { States } from './state-transfer.ts';

/** The part of a training that a new group and new processes need. */
export interface Replica {
  /** Copies what lies in the memory of the group, which is destroyed next. */
  leaveGroup(): void;
  /** Allocates memory of the new group. A collective. */
  enterGroup(group: ProcessGroup): void;
  /** The state of the training between two steps. */
  saveState(): Promise<States>;
  loadState(states: ReadonlyMap<string, unknown>): Promise<void>;
}

/** Collectives that all ranks complete, or none. */
export interface Transaction<Result> {
  /** Whether it is a step of training: new processes join before it. */
  readonly isStep: boolean;
  /** Whether `attempt` issues all its collectives before it returns its promise. */
  readonly issuesAtOnce: boolean;
  /** Runs the collectives in the group. Called again, with a new group, after a rank has died. */
  attempt(group: ProcessGroup): Promise<Result>;
}

export interface RecoveryOptions {
  minRanks: number;
  onMembershipChange: ((change: MembershipChange) => void) | undefined;
}

/**
 * Milliseconds for the connections of a new group. A rank that dies meanwhile may be noticed only at the end of it, so
 * each attempt has twice the time of the one before.
 */
const connectMs = { first: 2000, most: 60_000 };
/** Milliseconds between two looks at the store while the ranks agree. */
const lookAgainMs = { first: 5, most: 200 };
/** Milliseconds after which a rank prints which ranks it waits for. */
const waitReportMs = 5000;

/** A survivor, or a joining process, saw that the generation cannot be formed. */
class FormationAbandonedError extends Error {}

/** Keeps the training of this process going while other processes die and join. */
export class Recovery {
  readonly #session: Session;
  readonly #replica: Replica;
  readonly #options: RecoveryOptions;
  readonly #own: Process;
  readonly #keys: RecoveryKeys;
  readonly #signs: SignsOfLife;
  #group: ProcessGroup;
  #generation: number;
  #members: readonly Process[];
  #committed = 0;
  #next: Report['next'] = 'none';
  #nextIsStep = false;
  /** This rank has seen a process that waits to join. */
  #wantsChange = false;
  /** All ranks know it, and form the next group before the next step. */
  #changesNext = false;
  #isAdmitted: boolean;
  #isLeaving = false;
  #opened: Promise<void> | undefined;
  #connectMs = connectMs.first;

  private constructor(
    session: Session,
    replica: Replica,
    options: RecoveryOptions,
    { id, generation, members, own }: Pick<RunningJob, 'id' | 'generation' | 'members'> & { own: Process },
  ) {
    this.#session = session;
    this.#replica = replica;
    this.#options = options;
    this.#own = own;
    this.#group = session.group;
    this.#generation = generation;
    this.#members = members;
    this.#isAdmitted = session.joins === undefined;
    this.#keys = new RecoveryKeys(session.recoveryStore, id);
    this.#signs = new SignsOfLife(this.#keys, own, () => this.#lookForWaiting());
    session.leaveBy = () => this.#leave();
    setRecoveryMark(process.env);
  }

  /** Makes the job of the session fault-tolerant. A collective of all ranks, except in a process that joins. */
  static start(session: Session, replica: Replica, options: RecoveryOptions): Recovery {
    const { rank } = session.startedAs;
    const token = process.env['RINGRUN_WORKER_ID'] ?? randomUUID();
    const own: Process = { token, rank, host: hostname(), pid: process.pid, space: processSpace() };
    if (session.joins !== undefined)
      return new Recovery(session, replica, options, { ...session.joins, own });
    const all = session.group.allGatherObjectSync({ id: randomUUID(), own });
    const members = all.map((one) => one.own);
    const recovery = new Recovery(session, replica, options, { id: all[0].id, generation: 0, members, own });
    recovery.#opened = recovery.#open();
    recovery.#opened.catch(() => undefined);
    return recovery;
  }

  /** The current group. */
  get group(): ProcessGroup {
    return this.#group;
  }

  /** RANK, as started, of the processes in the current group, in the order of their ranks. */
  get startRanks(): readonly number[] {
    return this.#isAdmitted ? this.#members.map(({ rank }) => rank) : [this.#own.rank];
  }

  /** False in a process that joins, until `join` has resolved. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  /** Whether the next step begins with a new group. The same on every rank. */
  get changesNext(): boolean {
    return this.#changesNext;
  }

  /** Lets processes that start from now on join. */
  async #open(): Promise<void> {
    if (this.#group.rank === 0) {
      await this.#keys.setCurrent(this.#generation, this.#members, this.#session.masterAddress);
    }
  }

  /**
   * Runs a transaction. Forms the group again with the ranks that are left if one dies, and repeats the transaction there
   * unless every rank that is left has its result.
   */
  async run<Result>(transaction: Transaction<Result>): Promise<Result> {
    this.#next = 'incomplete';
    this.#nextIsStep = transaction.isStep;
    try {
      if (this.#opened !== undefined) await this.#opened;
      this.#opened = undefined;
      return await this.#runUntilCommitted(transaction);
    } finally {
      this.#next = 'none';
    }
  }

  async #runUntilCommitted<Result>(transaction: Transaction<Result>): Promise<Result> {
    if (this.#changesNext && transaction.isStep) await this.#namingServer(this.#reform(undefined));
    for (;;) {
      let result: { value: Result } | undefined;
      const before = this.#committed;
      try {
        const attempt = transaction.attempt(this.#group);
        attempt.catch(() => undefined);
        const early = transaction.issuesAtOnce ? this.#issueCommit() : undefined;
        early?.catch(() => undefined);
        result = { value: await attempt };
        this.#next = 'complete';
        if (await (early ?? this.#issueCommit())) this.#changesNext = true;
        this.#committed += 1;
        return result.value;
      } catch (error) {
        if (!isRecoverable(error)) throw error;
        await this.#namingServer(this.#reform(error));
        if (this.#committed > before) return result!.value;
        this.#next = 'incomplete';
      }
    }
  }

  /** Joins the running job. Resolves after this process has received the state of the training. */
  async join(): Promise<void> {
    process.stderr.write(`ringrun: rank ${this.#own.rank} joins the running job at its next step\n`);
    this.#next = 'empty';
    await this.#leaveGroup();
    await this.#keys.addWaiting(this.#own);
    while (!this.#isAdmitted) {
      const verdict = await this.#nextVerdict();
      this.#generation += 1;
      if (verdict.kind === 'fail') throw jobEnded(verdict.reason);
      this.#members = verdict.members;
      if (!verdict.members.some(({ token }) => token === this.#own.token)) continue;
      try {
        await this.#form(verdict);
      } catch (error) {
        if (!isRecoverable(error)) throw error;
        await this.#blame(whileForming(error));
        await this.#keys.report(this.#generation + 1, this.#own, this.#report());
      }
    }
    this.#next = 'none';
    await this.#keys.removeWaiting(this.#own);
  }

  /** The members' verdict on the next generation. */
  async #nextVerdict(): Promise<Verdict> {
    for (;;) {
      const verdict = await this.#keys.verdict(this.#generation + 1);
      if (verdict !== undefined) return verdict;
      const gone = await Promise.all(
        this.#members.map(async (one) => one.token === this.#own.token || (await this.#isGone(one))),
      );
      if (gone.every(Boolean)) throw jobEnded('all its ranks have ended');
      await delay(lookAgainMs.most);
    }
  }

  /**
   * Resolves with true if a rank wants the next group to be formed. No rank completes it before all ranks have completed
   * the collectives before it.
   */
  async #issueCommit(): Promise<boolean> {
    const wish = Int32Array.of(this.#wantsChange ? 1 : 0);
    await this.#group.allReduce(wish, { op: ReduceOp.MAX });
    return wish[0] > 0;
  }

  /** Forms the next group, if need be in several attempts. `cause`: the failure of the current one, if any. */
  async #reform(cause: unknown): Promise<void> {
    const before = this.#members;
    for (let failure = cause; ;) {
      await this.#blame(failure);
      await this.#keys.report(this.#generation + 1, this.#own, this.#report());
      await this.#leaveGroup();
      const formation = await this.#agree();
      this.#generation += 1;
      this.#members = formation.members;
      if (this.#committed < formation.committed) {
        this.#committed = formation.committed;
        this.#next = 'none';
      } else if (this.#next === 'complete') this.#next = 'incomplete';
      try {
        await this.#form(formation);
        break;
      } catch (error) {
        if (!isRecoverable(error)) throw error;
        failure = whileForming(error);
      }
    }
    this.#announce(before);
  }

  #report(): Report {
    return { committed: this.#committed, next: this.#next, isStep: this.#nextIsStep };
  }

  /** Records which rank a failure shows to be dead, unless that rank has reported. */
  async #blame(failure: unknown): Promise<void> {
    const ranks =
      failure instanceof PeerDiedError
        ? [failure.peer.rank]
        : failure instanceof CollectiveTimeoutError
          ? failure.missing.map(({ rank }) => rank)
          : [];
    const blamed = ranks.flatMap((rank) => this.#members[rank] ?? []);
    const next = this.#generation + 1;
    const reports = await this.#keys.reports(next, blamed);
    for (const one of blamed) if (!reports.has(one.token)) await this.#keys.setBlamed(next, one);
  }

  async #leaveGroup(): Promise<void> {
    const state = currentState();
    this.#replica.leaveGroup();
    if (state.phase === 'ready') await state.subgroups.destroyAll().catch(() => undefined);
    await this.#group.destroy().catch(() => undefined);
  }

  /** Agrees with the other members on the next generation. */
  async #agree(): Promise<Formation> {
    const next = this.#generation + 1;
    const since = performance.now();
    const { timeoutMs } = this.#session;
    let isReported = false;
    for (let pauseMs = lookAgainMs.first; ; pauseMs = Math.min(2 * pauseMs, lookAgainMs.most)) {
      const found = await this.#keys.verdict(next);
      if (found !== undefined) return this.#accept(found);
      const situation = await this.#situation(next, this.#members);
      const decision = decide(situation);
      if (decision.kind !== 'wait') return this.#accept(await this.#keys.propose(next, decision));
      await this.#signs.observe(decision.missing);
      const waitedMs = performance.now() - since;
      const missing = formatRanks(decision.missing.map(({ rank }) => rank));
      if (waitedMs > timeoutMs) {
        throw recoveryFailed(
          `${missing} did not take part for ${formatDuration(timeoutMs)}. Raise the timeoutMs of initProcessGroup, or end the processes that are stuck`,
        );
      }
      if (waitedMs > waitReportMs && !isReported) {
        isReported = true;
        process.stderr.write(
          `ringrun: rank ${this.#own.rank}: waiting for ${missing} to form the group again\n`,
        );
      }
      await delay(pauseMs);
    }
  }

  async #situation(generation: number, members: readonly Process[]): Promise<Situation> {
    const { minRanks } = this.#options;
    return await this.#keys.situation(generation, members, this.#signs.isDead, minRanks);
  }

  #accept(verdict: Verdict): Formation {
    if (verdict.kind === 'fail') throw recoveryFailed(verdict.reason);
    if (verdict.members.some(({ token }) => token === this.#own.token)) return verdict;
    throw new RingrunError(
      'ERR_RANK_REMOVED',
      `Rank ${this.#own.rank} was removed from the job: the other ranks did not reach it and went on without it. Start it again to join.`,
    );
  }

  /** Forms the group of the current generation, and brings new processes to the state of the others. */
  async #form({ members, joining, source, committed }: Formation): Promise<void> {
    const rank = members.findIndex(({ token }) => token === this.#own.token);
    const group = await this.#connect(members, rank);
    try {
      const sender = members.findIndex(({ token }) => token === source);
      if (!this.#isAdmitted) {
        await this.#replica.loadState(await receiveState(group, sender));
        this.#committed = committed;
      } else if (rank === sender) {
        const receivers = joining.map((token) => members.findIndex((member) => member.token === token));
        await sendState(group, receivers, await this.#replica.saveState());
      }
      await group.barrier();
      this.#replica.enterGroup(group);
    } catch (error) {
      await this.#blame(whileForming(error));
      await this.#keys.report(this.#generation + 1, this.#own, this.#report());
      await group.destroy().catch(() => undefined);
      throw error;
    }
    this.#enter(group);
    this.#connectMs = connectMs.first;
    this.#isAdmitted = true;
    this.#wantsChange = false;
    this.#changesNext = false;
    await this.#keys.forget(this.#generation, this.#own);
    await this.#open();
  }

  async #connect(members: readonly Process[], rank: number): Promise<ProcessGroup> {
    const { timeoutMs, masterAddress, formGroup } = this.#session;
    const size = members.length;
    if (size === 1) return await createCpuGroup({ store: new HashStore(), rank, size, timeoutMs });
    const over = new AbortController();
    const abandoned = this.#untilAbandoned(members, over.signal);
    abandoned.catch(() => undefined);
    try {
      const store = new AbandonableStore(this.#keys.groupStore(this.#generation), abandoned);
      const connectTimeoutMs = Math.min(timeoutMs, this.#connectMs);
      return await formGroup({ store, rank, size, timeoutMs, connectTimeoutMs, masterAddress });
    } catch (error) {
      this.#connectMs = Math.min(2 * this.#connectMs, connectMs.most);
      throw error;
    } finally {
      over.abort();
    }
  }

  /** Rejects when a member has given up the generation, or has died. */
  async #untilAbandoned(members: readonly Process[], over: AbortSignal): Promise<never> {
    const next = this.#generation + 1;
    for (;;) {
      await delay(lookAgainMs.most, undefined, { signal: over });
      const { reports, left, dead } = await this.#situation(next, members);
      if (reports.size + left.size + dead.size > 0) throw new FormationAbandonedError();
    }
  }

  #enter(group: ProcessGroup): void {
    this.#group = group;
    this.#session.group = group;
    enterState({ phase: 'ready', session: this.#session, subgroups: new Subgroups(this.#session) });
  }

  #announce(before: readonly Process[]): void {
    const died = without(before, this.#members);
    const joined = without(this.#members, before);
    if (died.length + joined.length === 0) return;
    const { rank, size } = this.#group;
    if (rank === 0) {
      const changes = [
        ...died.map((one) => `${describe(one)} is gone`),
        ...joined.map((one) => `${describe(one)} has joined`),
      ];
      process.stderr.write(`ringrun: ${changes.join(', ')}; training goes on with ${ranksCount(size)}\n`);
    }
    this.#options.onMembershipChange?.({
      rank,
      worldSize: size,
      startRanks: this.startRanks,
      died: died.map(identity),
      joined: joined.map(identity),
    });
  }

  /** Rank 0 looks once a second. */
  async #lookForWaiting(): Promise<void> {
    if (!this.#isAdmitted || this.#group.rank !== 0 || this.#wantsChange) return;
    const waiting = await this.#keys.waiting();
    const free = waiting.filter(({ rank }) => this.#members.every((member) => member.rank !== rank));
    const gone = await Promise.all(free.map((one) => this.#isGone(one)));
    if (gone.includes(false)) this.#wantsChange = true;
  }

  async #isGone(one: Process): Promise<boolean> {
    return this.#signs.isDead(one) || (await this.#keys.isGone(one.token));
  }

  async #leave(): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#signs.stop();
    const { servedByRank0, startedAs } = this.#session;
    const others = this.#members.filter(({ token }) => token !== this.#own.token);
    try {
      if (!this.#isAdmitted) await this.#keys.removeWaiting(this.#own);
      if (this.#group.rank === 0 && this.#isAdmitted) await this.#keys.clearCurrent();
      await this.#keys.setLeft(this.#own, this.#committed);
      // A rank that died after the last step is no failure.
      await this.#group.destroy().catch(() => undefined);
      if (servedByRank0 && startedAs.rank === 0) await this.#keys.waitUntilLeft(others, goodbyeMs);
    } catch (error) {
      if (!(error instanceof RingrunError)) throw error;
    }
  }

  /** Without a launcher, the store ends with rank 0. */
  async #namingServer<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      const isLost = error instanceof RingrunError && error.code === 'ERR_STORE_LOST';
      if (!isLost || !this.#session.servedByRank0) throw error;
      throw new RingrunError(
        'ERR_STORE_LOST',
        `Recovery failed: rank 0, which serves the store, has ended, and without the store the ranks cannot form their group again (${error.message}) ` +
          'Start the job with ringrun, whose store does not end with a rank, or pass a store to initProcessGroup.',
        { cause: error },
      );
    }
  }
}

/** Whether the ranks that are left can go on after this error. */
export function isRecoverable(error: unknown): boolean {
  return (
    error instanceof PeerDiedError ||
    error instanceof CollectiveTimeoutError ||
    error instanceof StoreTimeoutError ||
    error instanceof FormationAbandonedError ||
    (error instanceof RingrunError && error.code === 'ERR_GROUP_CLOSED')
  );
}

/** A rank that is late while a group is formed may only be slow: the next attempt has more time. */
function whileForming(error: unknown): unknown {
  return error instanceof CollectiveTimeoutError ? undefined : error;
}

function recoveryFailed(reason: string): RingrunError {
  return new RingrunError('ERR_RECOVERY_FAILED', `Recovery failed: ${reason}.`);
}

function jobEnded(reason: string): RingrunError {
  return new RingrunError(
    'ERR_JOB_ENDED',
    `This process did not join the running job: ${reason}. Start all ranks to run a new job.`,
  );
}

function without(some: readonly Process[], others: readonly Process[]): Process[] {
  return some.filter(({ token }) => others.every((other) => other.token !== token));
}

function describe({ rank, host, pid }: Process): string {
  return `rank ${rank} (host ${host}, pid ${pid})`;
}

function identity({ rank, host, pid }: Process): RankIdentity {
  return { rank, host, pid };
}

function ranksCount(size: number): string {
  return size === 1 ? '1 rank' : `${size} ranks`;
}
