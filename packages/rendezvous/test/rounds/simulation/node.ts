import {
  leaseLength,
  leaseOfWorkers,
  newNodeState,
  onEnded,
  onFailing,
  onRenewed,
  onStarted,
  onState,
  onStopping,
  onStoreLost,
} from '../../../src/rounds/node-state.ts';
import type { NodeState, Timing } from '../../../src/rounds/node-state.ts';
import {
  mustBeGoneAt,
  mustStopAt,
  noLiveness,
  silentNodes,
  updateLiveness,
} from '../../../src/rounds/lease.ts';
import type { Liveness } from '../../../src/rounds/lease.ts';
import { firstRankOf, roundOf } from '../../../src/rounds/round.ts';
import type {
  JobTerms,
  NodeEnd,
  NodeInfo,
  RendezvousState,
  RootCause,
} from '../../../src/rounds/rendezvous-state.ts';
import type { Step } from '../../../src/rounds/step.ts';
import type { World } from './world.ts';
import type { StoreAnswer } from './store.ts';

/** Milliseconds between two reads of the store. */
const lookEveryMs = 300;

/** Milliseconds after which a call counts as lost. */
const answerWithinMs = 2000;

/** Milliseconds between two checks of the heartbeats. */
const listenEveryMs = 1000;

/** Maximum milliseconds from SIGTERM to the end of the workers. */
const slowestEndMs = 20_000;

/** A simulated launcher with its workers. Replaces rendezvous.ts and the launcher, with the same pure parts. */
export class SimulatedNode {
  readonly info: NodeInfo;
  isAlive = true;
  isCutOff = false;
  /** How its part ended. */
  end: NodeEnd | undefined;
  readonly #world: World;
  readonly #clock: { offset: number; rate: number };
  #nodeState: NodeState;
  #instance: number | undefined;
  #stored: { text: string; state: RendezvousState } | undefined;
  #isEmpty = false;
  #liveness: Liveness = noLiveness;
  #isWriting = false;
  #workersRun = 0;

  constructor(world: World, info: NodeInfo, terms: JobTerms, timing: Timing, servesStore: boolean) {
    this.info = info;
    this.#world = world;
    this.#clock = { offset: world.random.between(0, 1e6), rate: world.random.between(0.97, 1.03) };
    const given = { node: info, terms, timing, freshName: `${info.id}/1`, runId: 'job' };
    this.#nodeState = newNodeState(given, this.#now());
    this.#every(lookEveryMs, () => {
      this.#readState();
      this.#act();
    });
    this.#every(timing.keepAliveIntervalMs, () => {
      this.#sendHeartbeat();
    });
    if (servesStore) {
      this.#every(listenEveryMs, () => {
        this.#readHeartbeats();
      });
    }
  }

  get takesPart(): boolean {
    return this.isAlive && this.end === undefined;
  }

  get nodeState(): NodeState {
    return this.#nodeState;
  }

  /** Kills the node and its workers. */
  crash(): void {
    this.isAlive = false;
    this.#world.ranks.release(this.info.id);
  }

  leave(): void {
    this.#nodeState = { ...this.#nodeState, leaving: 'SIGTERM' };
  }

  /** A worker fails on its own, or because it lost a peer. */
  failWorkers(rootCause: RootCause): void {
    const { workers } = this.#nodeState;
    if (workers.kind !== 'running' || workers.failing) return;
    this.#nodeState = onFailing(this.#nodeState);
    const run = this.#workersRun;
    this.#after(this.#world.random.between(0, 3000), () => {
      if (run === this.#workersRun) this.#workersEnded('failed', rootCause);
    });
  }

  /** All workers of `round` have finished. */
  finishWorkers(incarnation: string, round: number): void {
    const { workers } = this.#nodeState;
    if (workers.kind !== 'running' || workers.incarnation !== incarnation || workers.round !== round) return;
    if (!workers.failing) this.#workersEnded('finished', undefined);
  }

  #readState(): void {
    this.#world.store.call({ op: 'read' }, this.#isUnreachable, (answer) => {
      this.#onRead(answer);
    });
  }

  #sendHeartbeat(): void {
    const sentAt = this.#now();
    this.#world.store.call({ op: 'renew', id: this.info.id }, this.#isUnreachable, ({ instance }) => {
      if (!this.isAlive || instance !== this.#instance) return;
      this.#nodeState = onRenewed(this.#nodeState, sentAt);
    });
  }

  #readHeartbeats(): void {
    const { store } = this.#world;
    const state = this.#stored?.state;
    if (!state || !store.isUp || store.instance !== this.#instance) return;
    const nodes = [...state.participants.map(({ node }) => node), ...state.waitList];
    const counts = new Map(nodes.map(({ id }) => [id, store.counters.get(id) ?? 0]));
    const { timing } = this.#nodeState;
    this.#liveness = updateLiveness(this.#liveness, counts, this.#now(), timing.keepAliveIntervalMs);
    const silent = silentNodes(this.#liveness, leaseLength(timing));
    this.#nodeState = { ...this.#nodeState, silent };
  }

  #onRead({ instance, value }: StoreAnswer): void {
    if (!this.takesPart) return;
    // Answers may arrive out of order: ignore those of an earlier run or version.
    if (this.#instance !== undefined && instance < this.#instance) return;
    if (this.#instance !== instance) this.#meetStore(instance);
    this.#isEmpty = value === '';
    if (this.#isEmpty || this.#stored?.text === value) return;
    const state = JSON.parse(value) as RendezvousState;
    const last = this.#stored?.state;
    if (last && last.incarnation === state.incarnation && state.version < last.version) return;
    this.#nodeState = onState(this.#nodeState, last, state, this.#now());
    this.#stored = { text: value, state };
    this.#act();
  }

  #meetStore(instance: number): void {
    if (this.#instance !== undefined) {
      this.#nodeState = onStoreLost(
        this.#nodeState,
        this.#stored?.state,
        `${this.info.id}/${instance}`,
        this.#now(),
      );
      this.#stored = undefined;
      this.#liveness = noLiveness;
    }
    this.#instance = instance;
    this.#sendHeartbeat();
  }

  #act(): void {
    if (!this.takesPart || this.#isWriting || (!this.#stored && !this.#isEmpty)) return;
    const clock = { now: this.#now(), wall: this.#world.agenda.now };
    this.#perform(this.#world.nextStep(this.#stored?.state, this.#nodeState, clock));
  }

  #perform(step: Step): void {
    switch (step.kind) {
      case 'write':
        this.#write(step);
        return;
      case 'find-port':
        this.#nodeState = { ...this.#nodeState, freePort: { round: this.#stored!.state.round, port: 1234 } };
        this.#act();
        return;
      case 'start':
        this.#startWorkers();
        return;
      case 'stop':
        this.#stopWorkers(step.cutOff);
        return;
      case 'end':
        this.end = step.end;
        return;
      case 'wait':
    }
  }

  #write({ state, end }: Extract<Step, { kind: 'write' }>): void {
    const desired = JSON.stringify(state);
    let isOver = false;
    this.#isWriting = true;
    const finish = () => {
      isOver = true;
      this.#isWriting = false;
    };
    const call = { op: 'compareSet', expected: this.#stored?.text ?? '', desired } as const;
    this.#world.store.call(call, this.#isUnreachable, (answer) => {
      if (isOver || !this.takesPart) return;
      finish();
      if (answer.value === desired && end) this.end = end;
      else this.#onRead(answer);
    });
    this.#after(answerWithinMs, () => {
      if (!isOver) finish();
    });
  }

  #startWorkers(): void {
    const { incarnation } = this.#stored!.state;
    const round = roundOf(this.#stored!.state, this.info.id, { host: 'store', port: 1 })!;
    this.#workersRun += 1;
    this.#nodeState = onStarted(this.#nodeState, this.#stored!.state);
    const first = firstRankOf(round);
    const ranks = Array.from({ length: this.info.processesPerNode }, (_, place) => first + place);
    this.#world.onStart(this, incarnation, round, ranks);
    this.#guardLease(this.#workersRun);
  }

  /** The launcher's own timer, independent of the rendezvous. */
  #guardLease(run: number): void {
    const left = mustStopAt(leaseOfWorkers(this.#nodeState)) - this.#now();
    this.#after(Math.max(left, 100), () => {
      const { workers } = this.#nodeState;
      const isTold = workers.kind === 'stopping' && workers.cutOff;
      if (run !== this.#workersRun || isTold) return;
      this.#act();
      this.#guardLease(run);
    });
  }

  #stopWorkers(cutOff: boolean): void {
    const { workers } = this.#nodeState;
    if (workers.kind !== 'running' && workers.kind !== 'stopping') return;
    const lease = leaseOfWorkers(this.#nodeState);
    this.#nodeState = onStopping(this.#nodeState, cutOff);
    const most = cutOff ? Math.max(0, mustBeGoneAt(lease) - this.#now()) : slowestEndMs;
    const run = this.#workersRun;
    this.#after(this.#world.random.between(0, most), () => {
      if (run === this.#workersRun) this.#workersEnded('stopped', undefined);
    });
  }

  #workersEnded(end: 'finished' | 'failed' | 'stopped', rootCause: RootCause | undefined): void {
    const { workers } = this.#nodeState;
    if (workers.kind !== 'running' && workers.kind !== 'stopping') return;
    this.#workersRun += 1;
    this.#nodeState = onEnded(this.#nodeState, end, rootCause);
    this.#world.ranks.release(this.info.id);
    this.#act();
  }

  readonly #isUnreachable = (): boolean => this.isCutOff || !this.isAlive;

  #now(): number {
    return this.#clock.offset + this.#world.agenda.now * this.#clock.rate;
  }

  #after(ms: number, act: () => void): void {
    this.#world.agenda.after(ms / this.#clock.rate, () => {
      if (this.isAlive) act();
    });
  }

  #every(ms: number, act: () => void): void {
    const again = (): void => {
      if (!this.takesPart) return;
      act();
      this.#after(ms, again);
    };
    this.#after(this.#world.random.between(0, ms), again);
  }
}
