import {
  leaseLength,
  leaseOfWorkers,
  newSituation,
  onEnded,
  onFailing,
  onRenewed,
  onStarted,
  onState,
  onStopping,
  onStoreLost,
} from '../../../src/rendezvous/situation.ts';
import type { Situation, Timing } from '../../../src/rendezvous/situation.ts';
import { heard, silentNodes } from '../../../src/rendezvous/liveness.ts';
import type { Liveness } from '../../../src/rendezvous/liveness.ts';
import { mustBeGoneAt, mustStopAt } from '../../../src/rendezvous/lease.ts';
import { firstRankOf, roundOf } from '../../../src/rendezvous/round.ts';
import { decodeState, encodeState } from '../../../src/rendezvous/state.ts';
import type { JobTerms, NodeCard, RendezvousState, RootCause } from '../../../src/rendezvous/state.ts';
import type { End, Step } from '../../../src/rendezvous/step.ts';
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
  readonly card: NodeCard;
  isAlive = true;
  isCutOff = false;
  /** How its part ended. */
  end: End | undefined;
  readonly #world: World;
  readonly #clock: { offset: number; rate: number };
  #situation: Situation;
  #instance: number | undefined;
  #seen: { text: string; state: RendezvousState } | undefined;
  #isEmpty = false;
  #liveness: Liveness = new Map();
  #isWriting = false;
  #workersRun = 0;

  constructor(world: World, card: NodeCard, terms: JobTerms, timing: Timing, isHost: boolean) {
    this.card = card;
    this.#world = world;
    this.#clock = { offset: world.random.between(0, 1e6), rate: world.random.between(0.97, 1.03) };
    const given = { card, terms, timing, freshName: `${card.id}/1`, runId: 'job' };
    this.#situation = newSituation(given, this.#now());
    this.#every(lookEveryMs, () => {
      this.#look();
      this.#act();
    });
    this.#every(timing.keepAliveIntervalMs, () => {
      this.#renew();
    });
    if (isHost) {
      this.#every(listenEveryMs, () => {
        this.#listen();
      });
    }
  }

  get takesPart(): boolean {
    return this.isAlive && this.end === undefined;
  }

  get situation(): Situation {
    return this.#situation;
  }

  /** Kills the node and its workers. */
  crash(): void {
    this.isAlive = false;
    this.#world.ranks.release(this.card.id);
  }

  leave(): void {
    this.#situation = { ...this.#situation, leaving: 'SIGTERM' };
  }

  /** A worker fails on its own, or because it lost a peer. */
  failWorkers(rootCause: RootCause): void {
    const { workers } = this.#situation;
    if (workers.kind !== 'running' || workers.failing) return;
    this.#situation = onFailing(this.#situation);
    const run = this.#workersRun;
    this.#after(this.#world.random.between(0, 3000), () => {
      if (run === this.#workersRun) this.#workersEnded('failed', rootCause);
    });
  }

  /** All workers of `round` have finished. */
  finishWorkers(incarnation: string, round: number): void {
    const { workers } = this.#situation;
    if (workers.kind !== 'running' || workers.incarnation !== incarnation || workers.round !== round) return;
    if (!workers.failing) this.#workersEnded('finished', undefined);
  }

  #look(): void {
    this.#world.store.call({ op: 'read' }, this.#isUnreachable, (answer) => {
      this.#take(answer);
    });
  }

  #renew(): void {
    const sentAt = this.#now();
    this.#world.store.call({ op: 'renew', id: this.card.id }, this.#isUnreachable, ({ instance }) => {
      if (!this.isAlive || instance !== this.#instance) return;
      this.#situation = onRenewed(this.#situation, sentAt);
    });
  }

  #listen(): void {
    const { store } = this.#world;
    const state = this.#seen?.state;
    if (!state || !store.isUp || store.instance !== this.#instance) return;
    const cards = [...state.participants.map(({ card }) => card), ...state.waitList];
    const counts = new Map(cards.map(({ id }) => [id, store.counters.get(id) ?? 0]));
    this.#liveness = heard(this.#liveness, counts, this.#now());
    const silent = silentNodes(this.#liveness, this.#now(), leaseLength(this.#situation.timing));
    this.#situation = { ...this.#situation, silent };
  }

  #take({ instance, value }: StoreAnswer): void {
    if (!this.takesPart) return;
    // Answers may arrive out of order: ignore those of an earlier run or version.
    if (this.#instance !== undefined && instance < this.#instance) return;
    if (this.#instance !== instance) this.#meetStore(instance);
    this.#isEmpty = value === '';
    if (this.#isEmpty || this.#seen?.text === value) return;
    const state = decodeState(Buffer.from(value))!;
    const last = this.#seen?.state;
    if (last && last.incarnation === state.incarnation && state.version < last.version) return;
    this.#situation = onState(this.#situation, last, state, this.#now());
    this.#seen = { text: value, state };
    this.#act();
  }

  #meetStore(instance: number): void {
    if (this.#instance !== undefined) {
      this.#situation = onStoreLost(
        this.#situation,
        this.#seen?.state,
        `${this.card.id}/${instance}`,
        this.#now(),
      );
      this.#seen = undefined;
      this.#liveness = new Map();
    }
    this.#instance = instance;
    this.#renew();
  }

  #act(): void {
    if (!this.takesPart || this.#isWriting || (!this.#seen && !this.#isEmpty)) return;
    const clock = { now: this.#now(), wall: this.#world.agenda.now };
    this.#do(this.#world.nextStep(this.#seen?.state, this.#situation, clock));
  }

  #do(step: Step): void {
    switch (step.kind) {
      case 'write':
        this.#write(step);
        return;
      case 'find-port':
        this.#situation = { ...this.#situation, freePort: { round: this.#seen!.state.round, port: 1234 } };
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
    const desired = encodeState(state);
    let isOver = false;
    this.#isWriting = true;
    const finish = () => {
      isOver = true;
      this.#isWriting = false;
    };
    const call = { op: 'compareSet', expected: this.#seen?.text ?? '', desired } as const;
    this.#world.store.call(call, this.#isUnreachable, (answer) => {
      if (isOver || !this.takesPart) return;
      finish();
      if (answer.value === desired && end) this.end = end;
      else this.#take(answer);
    });
    this.#after(answerWithinMs, () => {
      if (!isOver) finish();
    });
  }

  #startWorkers(): void {
    const { incarnation } = this.#seen!.state;
    const round = roundOf(this.#seen!.state, this.card.id, { host: 'store', port: 1 })!;
    this.#workersRun += 1;
    this.#situation = onStarted(this.#situation, this.#seen!.state);
    const first = firstRankOf(round);
    const ranks = Array.from({ length: this.card.processesPerNode }, (_, place) => first + place);
    this.#world.onStart(this, incarnation, round, ranks);
    this.#guardLease(this.#workersRun);
  }

  /** The launcher's own timer, independent of the rendezvous. */
  #guardLease(run: number): void {
    const left = mustStopAt(leaseOfWorkers(this.#situation)) - this.#now();
    this.#after(Math.max(left, 100), () => {
      const { workers } = this.#situation;
      const isTold = workers.kind === 'stopping' && workers.cutOff;
      if (run !== this.#workersRun || isTold) return;
      this.#act();
      this.#guardLease(run);
    });
  }

  #stopWorkers(cutOff: boolean): void {
    const { workers } = this.#situation;
    if (workers.kind !== 'running' && workers.kind !== 'stopping') return;
    const lease = leaseOfWorkers(this.#situation);
    this.#situation = onStopping(this.#situation, cutOff);
    const most = cutOff ? Math.max(0, mustBeGoneAt(lease) - this.#now()) : slowestEndMs;
    const run = this.#workersRun;
    this.#after(this.#world.random.between(0, most), () => {
      if (run === this.#workersRun) this.#workersEnded('stopped', undefined);
    });
  }

  #workersEnded(end: 'finished' | 'failed' | 'stopped', rootCause: RootCause | undefined): void {
    const { workers } = this.#situation;
    if (workers.kind !== 'running' && workers.kind !== 'stopping') return;
    this.#workersRun += 1;
    this.#situation = onEnded(this.#situation, end, rootCause);
    this.#world.ranks.release(this.card.id);
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
