import type { ErrorRecord } from '../../../../launcher/src/worker/error-record.ts';
import type { ProcessGroup, Store } from '@ringrun/core';
import { isJoinable, PrefixStore, readJob } from '@ringrun/rendezvous';
import type { Process } from '@ringrun/rendezvous';
import { flatten } from '../../../src/checkpoint/flat-state.ts';
import type { FormGroup, Session } from '../../../src/process-group/session.ts';
import { Recovery } from '../../../src/recovery/recovery.ts';
import type { States } from '../../../src/recovery/state-transfer.ts';
import type { Replica } from '../../../src/recovery/training.ts';
import type { SimulatedJob } from './job.ts';
import { clockOf } from '../../../../rendezvous/test/rounds/simulation/time.ts';

/** Milliseconds that a process waits for another job of its ranks. */
const maxAfterEndMs = 30_000;

export interface ProcessEnd {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

/** A rank's process of a fault-tolerant job: the program of a user over the real recovery. */
export class SimulatedProcess implements Replica {
  readonly rank: number;
  readonly token: string;
  readonly pid: number;
  isAlive = true;
  /** Stopped, or in an endless loop. */
  isStuck = false;
  hasBegun = false;
  /** Transactions in this process's state of the training. */
  steps = 0;
  /** Its phases so far, and its end. */
  readonly history: string[] = [];
  /** The record of its error, for the launcher. */
  error: ErrorRecord | undefined;
  readonly ended: Promise<ProcessEnd>;
  #end!: (end: ProcessEnd) => void;
  readonly #job: SimulatedJob;
  readonly #deathListeners: (() => void)[] = [];

  constructor(job: SimulatedJob, rank: number, token: string, isReplacement: boolean) {
    this.#job = job;
    this.rank = rank;
    this.token = token;
    this.pid = job.nextPid();
    this.ended = new Promise((resolve) => (this.#end = resolve));
    // Its code runs when its launcher knows it.
    void Promise.resolve()
      .then(() => this.#main(isReplacement))
      .then(
        () => {
          this.#exit({ exitCode: 0, signal: null });
        },
        (error: unknown) => {
          const { message, code = '' } = error as Error & { code?: string };
          this.error = {
            message,
            code,
            stack: '',
            host: 'host',
            pid: this.pid,
            time: job.time.now,
            hostTime: job.time.now,
          };
          this.#exit({ exitCode: 1, signal: null });
        },
      );
  }

  /** Whether its code runs. */
  get runs(): boolean {
    return this.isAlive && !this.isStuck;
  }

  onDeath(act: () => void): void {
    this.#deathListeners.push(act);
  }

  kill(signal: NodeJS.Signals): void {
    // A stopped process does not receive SIGTERM.
    if (!this.isStuck || signal === 'SIGKILL') this.#exit({ exitCode: null, signal });
  }

  stop(): void {
    this.isStuck = true;
    this.history.push('stopped');
  }

  #begin(phase: string): void {
    this.history.push(`${Math.round(this.#job.time.now)} ${phase}`);
    this.#job.onPhase(this);
  }

  #exit(end: ProcessEnd): void {
    if (!this.isAlive) return;
    const how = end.signal ?? this.error?.message ?? 'exits with 0';
    this.history.push(`${Math.round(this.#job.time.now)} ${how}`);
    this.isAlive = false;
    for (const act of this.#deathListeners) act();
    this.#end(end);
  }

  async #main(isReplacement: boolean): Promise<void> {
    const { time, settings } = this.#job;
    const clock = clockOf(time, () => this.runs);
    this.#begin('starts');
    await clock.delay(isReplacement ? settings.replacementMs : time.random.between(100, 300));
    const store = new PrefixStore(
      'restart/0',
      this.#job.store.client(() => this.runs),
    );
    const found = isReplacement ? await readJob(store) : undefined;
    if (isReplacement && (found === undefined || !isJoinable(found))) {
      await clock.delay(maxAfterEndMs);
      throw Object.assign(new Error('the others had already finished it'), { code: 'ERR_JOB_ENDED' });
    }
    const group = found === undefined ? await this.#job.firstGroup(this) : undefined;
    const session = this.#session(store, group, found);
    const recovery = Recovery.start(
      session,
      this,
      { minRanks: 1, onMembershipChange: undefined },
      {
        self: this.identity,
        clock,
        begins: () => {
          this.hasBegun = true;
        },
        groupChanged: () => undefined,
        destroySubgroups: () => Promise.resolve(),
      },
    );
    this.#begin('joins');
    if (found !== undefined) await recovery.join();
    while (this.steps < settings.steps) {
      this.#begin(`step ${this.steps}`);
      await recovery.run({
        isStep: true,
        issuesAtOnce: settings.issuesAtOnce,
        attempt: async (current) => {
          if (!settings.issuesAtOnce) await clock.delay(time.random.between(0, settings.stepMs));
          await current.allReduce(new Float32Array(1));
        },
      });
      this.steps += 1;
      await clock.delay(time.random.between(0, settings.stepMs));
    }
    this.#begin('leaves');
    await session.leaveBy!();
    this.#begin('writes');
    await clock.delay(time.random.between(0, settings.resultMs));
    this.#job.onResult(this);
  }

  get identity(): Process {
    // The space is empty, so that these pids are not compared with those of real processes.
    return { token: this.token, rank: this.rank, host: 'host', pid: this.pid, space: '' };
  }

  #session(store: Store, group: ProcessGroup | undefined, joins: Session['joins']): Session {
    const { settings } = this.#job;
    const formGroup: FormGroup = (options) => this.#job.formGroup(this, options);
    return {
      group: group ?? this.#job.groupOf([this]).at(0),
      startedAs: { rank: this.rank, worldSize: settings.size },
      recoveryStore: store,
      servedByRank0: false,
      joins,
      store,
      jobStore: undefined,
      timeoutMs: settings.timeoutMs,
      masterAddress: 'host',
      formGroup,
      leave: () => Promise.resolve(),
    };
  }

  leaveGroup(): void {
    // It has no memory in the group.
  }

  enterGroup(): void {
    // As above.
  }

  saveState(): Promise<States> {
    return Promise.resolve(new Map([['training', flatten({ steps: this.steps }, 'training')]]));
  }

  loadState(states: ReadonlyMap<string, unknown>): Promise<void> {
    this.steps = (states.get('training') as { steps: number }).steps;
    return Promise.resolve();
  }
}
