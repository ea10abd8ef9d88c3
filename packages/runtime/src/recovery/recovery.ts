import { randomUUID } from 'node:crypto';
import { RingrunError } from '@ringrun/core';
import type { ProcessGroup, StartableOperation } from '@ringrun/core';
import {
  Agreement,
  RecoveryKeys,
  SignsOfLife,
  isRecoverable,
  jobEnded,
  whileForming,
} from '@ringrun/rendezvous';
import type { Formation, Generation, Job, Process, Report } from '@ringrun/rendezvous';
import { goodbyeMs } from '../process-group/membership.ts';
import type { Session } from '../process-group/session.ts';
import { Commit } from './commit.ts';
import { GroupConnector } from './group-connector.ts';
import { announceChange } from './membership-change.ts';
import { namingServer } from './naming-server.ts';
import { receiveState, sendState } from './state-transfer.ts';
import { thisProcess } from './this-process.ts';
import type { RecoveringProcess } from './this-process.ts';
import type { RecoveryOptions, Replica, Transaction } from './training.ts';

/** Continues the training of this process while other processes die and join. */
export class Recovery {
  readonly #session: Session;
  readonly #replica: Replica;
  readonly #options: RecoveryOptions;
  readonly #process: RecoveringProcess;
  readonly #keys: RecoveryKeys;
  readonly #signs: SignsOfLife;
  readonly #agreement: Agreement;
  readonly #connector: GroupConnector;
  #group: ProcessGroup;
  /** Undefined in a process that joins, until it has joined. */
  #commit: Commit | undefined;
  #generation: number;
  #members: readonly Process[];
  #committed = 0;
  #next: Report['next'] = 'none';
  #nextIsStep = false;
  /** This rank has seen a process that waits to join. */
  #wantsChange = false;
  /** All ranks have agreed to form the next group before the next step. */
  #changesNext = false;
  #isAdmitted: boolean;
  #isLeaving = false;
  #opened: Promise<void> | undefined;

  private constructor(
    session: Session,
    replica: Replica,
    options: RecoveryOptions,
    own: RecoveringProcess,
    { id, generation, members }: Pick<Job, 'id' | 'generation' | 'members'>,
  ) {
    this.#session = session;
    this.#replica = replica;
    this.#options = options;
    this.#process = own;
    this.#group = session.group;
    this.#generation = generation;
    this.#members = members;
    this.#isAdmitted = session.joins === undefined;
    if (this.#isAdmitted) this.#commit = new Commit(session.group);
    this.#keys = new RecoveryKeys(session.recoveryStore, id);
    const lookForWaiting = () => this.#lookForWaiting();
    this.#signs = new SignsOfLife(this.#keys, own.self, own.clock, lookForWaiting, members.length);
    const { minRanks } = options;
    const { timeoutMs } = session;
    const { clock } = own;
    this.#agreement = new Agreement(own.self, this.#keys, this.#signs, { minRanks, timeoutMs, clock });
    this.#connector = new GroupConnector(session, this.#keys, this.#agreement);
    session.leaveBy = () => this.#leave();
    own.begins();
  }

  /** Makes the job of the session fault-tolerant. A collective of all ranks, except in a process that joins. */
  static start(
    session: Session,
    replica: Replica,
    options: RecoveryOptions,
    own = thisProcess(session.startedAs.rank),
  ): Recovery {
    if (session.joins !== undefined) return new Recovery(session, replica, options, own, session.joins);
    const all = session.group.allGatherObjectSync({ id: randomUUID(), self: own.self });
    const members = all.map(({ self }) => self);
    const recovery = new Recovery(session, replica, options, own, { id: all[0].id, generation: 0, members });
    recovery.#opened = recovery.#open();
    recovery.#opened.catch(() => undefined);
    return recovery;
  }

  get #self(): Process {
    return this.#process.self;
  }

  /** The current group. */
  get group(): ProcessGroup {
    return this.#group;
  }

  /** RANK, as started, of the processes in the current group, in the order of their ranks. */
  get startRanks(): readonly number[] {
    return this.#isAdmitted ? this.#members.map(({ rank }) => rank) : [this.#self.rank];
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
      const { masterAddress, timeoutMs } = this.#session;
      const limitMs = Number.isFinite(timeoutMs) ? timeoutMs : null;
      await this.#keys.setCurrent({ ...this.#current(), masterAddress, timeoutMs: limitMs });
    }
  }

  /**
   * Runs a transaction. If a rank dies, forms the group again with the surviving ranks, and repeats the transaction
   * there unless every survivor has its result.
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

  /**
   * The commit of the next transaction in this group, to be started without JavaScript. Undefined if `run` must start it, or
   * must first form another group.
   */
  prepareCommit(): StartableOperation | undefined {
    return this.#changesNext ? undefined : this.#commit?.prepare(this.#wantsChange);
  }

  async #runUntilCommitted<Result>(transaction: Transaction<Result>): Promise<Result> {
    let { startedCommit } = transaction;
    if (this.#changesNext && transaction.isStep && startedCommit === undefined) {
      await namingServer(this.#session, this.#reform(undefined));
    }
    for (;;) {
      let result: { value: Result } | undefined;
      const before = this.#committed;
      try {
        const attempt = transaction.attempt(this.#group);
        attempt.catch(() => undefined);
        const early = this.#earlyCommit(transaction, startedCommit);
        startedCommit = undefined;
        early?.catch(() => undefined);
        result = { value: await attempt };
        this.#next = 'complete';
        if (await (early ?? this.#commit!.run(this.#wantsChange))) this.#changesNext = true;
        this.#committed += 1;
        return result.value;
      } catch (error) {
        if (!isRecoverable(error)) throw error;
        await namingServer(this.#session, this.#reform(error));
        if (this.#committed > before) return result!.value;
        this.#next = 'incomplete';
      }
    }
  }

  /** Joins the running job. Resolves after this process has received the state of the training. */
  async join(): Promise<void> {
    process.stderr.write(`ringrun: rank ${this.#self.rank} joins the running job at its next step\n`);
    this.#next = 'empty';
    await this.#leaveGroup();
    await this.#keys.addWaiting(this.#self);
    while (!this.#isAdmitted) {
      const { generation, verdict } = await this.#agreement.verdictOfMembers(this.#current());
      this.#generation = generation;
      if (verdict.kind === 'fail') throw jobEnded(verdict.reason);
      this.#members = verdict.members;
      if (!verdict.members.some(({ token }) => token === this.#self.token)) continue;
      try {
        await this.#form(verdict);
      } catch (error) {
        if (!isRecoverable(error)) throw error;
        await this.#agreement.leave(this.#current(), whileForming(error), this.#report());
      }
    }
    this.#next = 'none';
    await this.#keys.removeWaiting(this.#self.token);
  }

  /** The commit, issued after running collectives; undefined if it must wait until they have ended. */
  #earlyCommit(
    { issuesAtOnce }: Transaction<unknown>,
    started: StartableOperation | undefined,
  ): Promise<boolean> | undefined {
    if (started !== undefined) return this.#commit!.end(started);
    return issuesAtOnce ? this.#commit!.run(this.#wantsChange) : undefined;
  }

  /** Forms the next group, in several attempts if necessary. `cause`: the failure of the current one, if any. */
  async #reform(cause: unknown): Promise<void> {
    const before = this.#members;
    for (let failure = cause; ;) {
      await this.#agreement.leave(this.#current(), failure, this.#report());
      await this.#leaveGroup();
      const formation = await this.#agreement.agree(this.#current());
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
    const change = announceChange(before, this.#members, this.#group);
    if (change !== undefined) this.#options.onMembershipChange?.(change);
  }

  #current(): Generation {
    return { generation: this.#generation, members: this.#members };
  }

  #report(): Report {
    return { committed: this.#committed, next: this.#next, isStep: this.#nextIsStep };
  }

  async #leaveGroup(): Promise<void> {
    this.#replica.leaveGroup();
    await this.#process.destroySubgroups();
    await this.#group.destroy().catch(() => undefined);
  }

  /** Forms the group of the current generation, and brings new processes to the state of the others. */
  async #form({ members, joining, source, committed }: Formation): Promise<void> {
    const rank = members.findIndex(({ token }) => token === this.#self.token);
    const group = await this.#connector.connect(this.#current(), rank);
    try {
      const sender = members.findIndex(({ token }) => token === source);
      if (!this.#isAdmitted) {
        await this.#replica.loadState(await receiveState(group, sender));
        await this.#keys.setAdmitted(this.#self);
        this.#committed = committed;
      } else if (rank === sender) {
        const receivers = joining.map((token) => members.findIndex((member) => member.token === token));
        await sendState(group, receivers, await this.#replica.saveState());
      }
      await group.barrier();
      this.#replica.enterGroup(group);
      this.#commit = new Commit(group);
    } catch (error) {
      await this.#agreement.leave(this.#current(), whileForming(error), this.#report());
      await group.destroy().catch(() => undefined);
      throw error;
    }
    this.#enter(group);
    this.#connector.succeeded();
    this.#isAdmitted = true;
    this.#session.joins = undefined;
    this.#wantsChange = false;
    this.#changesNext = false;
    await this.#open();
    if (group.rank === 0) await this.#keys.forgetBefore(this.#generation);
  }

  #enter(group: ProcessGroup): void {
    this.#group = group;
    this.#session.group = group;
    this.#process.groupChanged(this.#session);
  }

  /** Rank 0 checks once a second. */
  async #lookForWaiting(): Promise<void> {
    if (!this.#isAdmitted || this.#group.rank !== 0 || this.#wantsChange) return;
    const waiting = await this.#keys.waiting();
    const free = waiting.filter(({ rank }) => this.#members.every((member) => member.rank !== rank));
    const gone = await Promise.all(free.map((one) => this.#agreement.isGone(one)));
    if (gone.includes(false)) this.#wantsChange = true;
  }

  async #leave(): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#signs.stop();
    const { servedByRank0, startedAs } = this.#session;
    const others = this.#members.filter(({ token }) => token !== this.#self.token);
    try {
      if (this.#isAdmitted) await this.#keys.endTraining(this.#generation);
      else await this.#keys.removeWaiting(this.#self.token);
      await this.#keys.setLeft(this.#self, this.#committed);
      // A rank that died or is stuck after the last step is not a failure.
      await this.#group
        .destroy()
        .catch((error: unknown) => this.#agreement.recordStuck(this.#current(), error));
      await this.#keys.setDeparted(this.#self);
      if (servedByRank0 && startedAs.rank === 0) await this.#keys.waitUntilLeft(others, goodbyeMs);
    } catch (error) {
      if (!(error instanceof RingrunError)) throw error;
    }
  }
}
