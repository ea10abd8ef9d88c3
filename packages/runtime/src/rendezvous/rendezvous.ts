import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { heard, silentNodes } from './liveness.ts';
import type { Liveness } from './liveness.ts';
import { mustBeGoneAt } from './lease.ts';
import type { MeetingPlace } from './meeting-place.ts';
import { nextStep } from './next-step.ts';
import { roundOf } from './round.ts';
import type { Round } from './round.ts';
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
} from './situation.ts';
import type { Situation, Timing } from './situation.ts';
import type { JobEvent, JobTerms, NodeCard, RendezvousState, RootCause, WorkersEnd } from './state.ts';
import type { End, Step } from './step.ts';
import { StoreLink, isFatal, isLost, isSame } from './store-link.ts';
import type { Seen } from './store-link.ts';
import { formatHostPort, isLoopback } from '../store/endpoint.ts';
import { WaitReporter } from '../store/wait-reporter.ts';

/** The operations of the rendezvous on the workers of this node. */
export interface WorkersOfNode {
  /** Returns a port that workers on this host can bind. */
  findFreePort(): Promise<number>;
  /** Starts the workers of a round. Those of the previous round must have ended. */
  start(round: Round): RunningWorkers;
}

export interface RunningWorkers {
  /** Resolves when the first worker has failed, before the others are stopped; may never resolve. */
  readonly failing: Promise<void>;
  /** Resolves when all workers and their child processes have ended. Never rejects. */
  readonly ended: Promise<{ end: WorkersEnd; rootCause: RootCause | undefined }>;
  /** Sends SIGTERM, and SIGKILL after `withinMs`; to workers that are writing a checkpoint, after `savingWithinMs`. */
  end(withinMs: number, savingWithinMs: number): void;
}

export interface RendezvousOptions {
  readonly place: MeetingPlace;
  readonly card: NodeCard;
  readonly terms: JobTerms;
  readonly timing: Timing;
  readonly runId: string;
  readonly workers: WorkersOfNode;
  /** Milliseconds between two checks of timeouts. */
  readonly lookEveryMs: number;
  /** Milliseconds for the workers to end after a node has joined or left. */
  readonly gracePeriodMs: number;
  /** Milliseconds that the node with the store waits until the other nodes have read the result of the job. */
  readonly closeTimeoutMs: number;
  /** Aborted when this node has to leave, with the cause as its reason. */
  readonly leaving: AbortSignal;
  /** Prints a line for the user. */
  readonly log: (line: string) => void;
}

/** How this node's part ended, and the last state that it read, with the events of the job. */
export interface RendezvousEnd {
  readonly end: End;
  readonly state: RendezvousState | undefined;
}

/** Milliseconds for the workers to end after a failure or the death of a node: they cannot finish. */
const failureGraceMs = 3000;

/** Milliseconds between two attempts of a call that the store does not answer. */
const troubleMs = 100;

/** Milliseconds that a leaving node waits for the store to confirm it. */
const farewellMs = 3000;

/**
 * The I/O around `nextStep`: runs this node's part of a job until the job ends or the node leaves. Reads, heartbeats
 * and timeouts run independently, so that a store without answers blocks none of them.
 */
export class Rendezvous {
  readonly #options: RendezvousOptions;
  readonly #lines: WaitReporter;
  readonly #over = new AbortController();
  #situation: Situation;
  #link: StoreLink | undefined;
  #seen: Seen | undefined;
  #liveness: Liveness = new Map();
  #running: RunningWorkers | undefined;
  #isWriting = false;
  #isLookingForPort = false;
  #waitsSince = performance.now();
  #leftAt: number | undefined;
  /** The events that were printed. */
  #told: readonly JobEvent[] | undefined;
  #finish!: (end: End) => void;
  #fail!: (error: unknown) => void;

  constructor(options: RendezvousOptions) {
    this.#options = options;
    this.#lines = new WaitReporter(undefined, options.log);
    const { card, terms, timing, runId } = options;
    this.#situation = newSituation(
      { card, terms, timing, runId, freshName: randomUUID() },
      performance.now(),
    );
  }

  /**
   * Resolves after this node's workers have ended, with how its part ended.
   *
   * @throws RingrunError if the store cannot be reached or served.
   */
  async takePart(): Promise<RendezvousEnd> {
    const { leaving, lookEveryMs, place } = this.#options;
    const over = new Promise<End>((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    const leave = () => {
      this.#situation = { ...this.#situation, leaving: String(leaving.reason) };
      this.#act();
    };
    if (leaving.aborted) leave();
    leaving.addEventListener('abort', leave, { signal: this.#over.signal });
    const ticker = setInterval(() => {
      this.#act();
    }, lookEveryMs);
    void this.#keepLooking();
    void this.#keepRenewing();
    void this.#keepListening();
    try {
      const end = await over;
      if (place.isHosted && end.kind !== 'left') await this.#untilOthersHaveRead();
      return { end, state: this.#seen?.state ?? this.#situation.before };
    } finally {
      clearInterval(ticker);
      this.#over.abort();
      await this.#link?.close();
    }
  }

  // --- Background loops.

  async #keepLooking(): Promise<void> {
    while (!this.#over.signal.aborted) {
      try {
        this.#link ??= await this.#connect();
        this.#take(await this.#link.read());
        await this.#link.changeAfter(this.#seen?.state?.version ?? 0);
      } catch (error) {
        await this.#onTrouble(error);
      }
    }
  }

  async #connect(): Promise<StoreLink> {
    const link = await StoreLink.open(this.#options.place);
    this.#liveness = new Map();
    void this.#renew(link);
    return link;
  }

  async #onTrouble(error: unknown): Promise<void> {
    if (this.#over.signal.aborted) return;
    if (isFatal(error) || !this.#link) {
      this.#fail(error);
      return;
    }
    if (!isLost(error) && !this.#isCutOffForLong()) {
      await sleep(troubleMs);
      return;
    }
    await this.#link.close();
    this.#link = undefined;
    if (isLost(error)) this.#loseStore();
  }

  /** After a lease without answers, reconnect: the store server may have another address now. */
  #isCutOffForLong(): boolean {
    return performance.now() - this.#situation.lease.renewedAt > leaseLength(this.#situation.timing);
  }

  #loseStore(): void {
    const last = this.#seen?.state;
    this.#seen = undefined;
    this.#situation = onStoreLost(this.#situation, last, randomUUID(), performance.now());
    if (last?.phase === 'closed' && !this.#running) this.#finish(last.verdict!);
    this.#act();
  }

  async #keepRenewing(): Promise<void> {
    await this.#every(this.#options.timing.keepAliveIntervalMs, () => {
      // Not awaited, so that the next heartbeat does not wait for this answer.
      if (this.#link) void this.#renew(this.#link);
    });
  }

  async #renew(link: StoreLink): Promise<void> {
    const sentAt = performance.now();
    try {
      await link.renew(this.#options.card.id);
    } catch {
      // The lease expires, and `#keepLooking` meets and handles the same error.
      return;
    }
    if (link === this.#link || !this.#link) this.#situation = onRenewed(this.#situation, sentAt);
  }

  async #keepListening(): Promise<void> {
    await this.#every(this.#options.timing.keepAliveIntervalMs / 2, async () => {
      if (!this.#options.place.isHosted || !this.#link) return;
      // `#keepLooking` meets and handles the same error.
      await this.#listen(this.#link).catch(() => undefined);
    });
  }

  async #listen(link: StoreLink): Promise<void> {
    const state = this.#seen?.state;
    if (!state) return;
    const cards = [...state.participants.map(({ card }) => card), ...state.waitList];
    const counts = await link.readSigns(cards.map(({ id }) => id));
    this.#liveness = heard(this.#liveness, counts, performance.now());
    const silent = silentNodes(this.#liveness, performance.now(), leaseLength(this.#situation.timing));
    this.#situation = { ...this.#situation, silent };
  }

  async #every(intervalMs: number, act: () => Promise<void> | void): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      await act();
      await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  // --- Reading the state and acting on it.

  #take(seen: Seen): void {
    const { state } = seen;
    const last = this.#seen?.state;
    if (last && last.incarnation !== state?.incarnation) this.#loseStore();
    else if (last && state && state.version < last.version) return;
    const before = this.#seen?.state;
    this.#seen = seen;
    if (state && !isSame(before, state)) {
      this.#situation = onState(this.#situation, before, state, performance.now());
      this.#tellEvents(state);
    }
    this.#act();
  }

  /** Prints each event once, from the time this node joined. */
  #tellEvents({ events }: RendezvousState): void {
    const told = this.#told ?? events;
    const last = told.at(-1);
    const from = events.findLastIndex(({ at, what }) => at === last?.at && what === last.what) + 1;
    for (const event of events.slice(from)) this.#options.log(describeEvent(event));
    this.#told = events;
  }

  #act(): void {
    if (this.#over.signal.aborted) return;
    if (this.#isGivingUp()) {
      this.#finish({ kind: 'left', why: this.#situation.leaving! });
      return;
    }
    const isEmpty = this.#seen !== undefined && !this.#seen.state;
    const mayBegin = isEmpty || this.#seen?.state !== undefined || this.#running;
    if (!mayBegin) return;
    const clock = { now: performance.now(), wall: Date.now() };
    try {
      this.#do(nextStep(this.#seen?.state, this.#situation, clock));
    } catch (error) {
      // For example, the disk for the workers' output is full.
      this.#fail(error);
    }
  }

  /** A leaving node does not wait for a store that does not answer. */
  #isGivingUp(): boolean {
    if (this.#situation.leaving === undefined || this.#running) return false;
    this.#leftAt ??= performance.now();
    return !this.#link || performance.now() - this.#leftAt > farewellMs;
  }

  #do(step: Step): void {
    if (step.kind !== 'wait') this.#waitsSince = performance.now();
    switch (step.kind) {
      case 'write':
        void this.#write(step);
        return;
      case 'find-port':
        this.#findPort().catch(this.#fail);
        return;
      case 'start':
        this.#start();
        return;
      case 'stop':
        this.#stop(step);
        return;
      case 'end':
        this.#finish(step.end);
        return;
      case 'wait':
        this.#sayWhy(step.reason);
    }
  }

  async #write({ state, end }: Extract<Step, { kind: 'write' }>): Promise<void> {
    const link = this.#link;
    if (this.#isWriting || !link || !this.#seen) return;
    this.#isWriting = true;
    try {
      const there = await link.replace(this.#seen.bytes, state);
      this.#isWriting = false;
      if (link !== this.#link) return;
      this.#take(there);
      if (end && isSame(there.state, state)) this.#finish(end);
    } catch (error) {
      this.#isWriting = false;
      if (isFatal(error) && !this.#over.signal.aborted && link === this.#link) this.#fail(error);
    }
  }

  async #findPort(): Promise<void> {
    if (this.#isLookingForPort) return;
    this.#isLookingForPort = true;
    const { round } = this.#seen!.state!;
    const port = await this.#options.workers.findFreePort();
    this.#isLookingForPort = false;
    this.#situation = { ...this.#situation, freePort: { round, port } };
    this.#act();
  }

  #start(): void {
    const state = this.#seen!.state!;
    const running = this.#options.workers.start(
      roundOf(state, this.#options.card.id, this.#options.place.reachedAt)!,
    );
    this.#running = running;
    this.#situation = onStarted(this.#situation, state);
    void running.failing.then(() => {
      if (this.#running !== running) return;
      this.#situation = onFailing(this.#situation);
      this.#act();
    });
    void running.ended.then(({ end, rootCause }) => {
      this.#running = undefined;
      this.#situation = onEnded(this.#situation, end, rootCause);
      this.#act();
    });
  }

  #stop({ cutOff, because }: Extract<Step, { kind: 'stop' }>): void {
    if (!this.#running) return;
    // After the lease, the ranks may be assigned to other nodes.
    const leaseLeftMs = Math.max(0, mustBeGoneAt(leaseOfWorkers(this.#situation)) - performance.now());
    this.#situation = onStopping(this.#situation, cutOff);
    const { gracePeriodMs } = this.#options;
    const graceMs = because === 'joined' || because === 'left' ? gracePeriodMs : failureGraceMs;
    const most = cutOff ? leaseLeftMs : Infinity;
    this.#running.end(Math.min(graceMs, most), Math.min(Math.max(graceMs, gracePeriodMs), most));
    if (cutOff) this.#options.log(`ringrun: ${describeCut(because)}`);
  }

  #sayWhy(reason: string): void {
    if (this.#seen?.state?.phase === 'running' && this.#running) {
      this.#waitsSince = performance.now();
      return;
    }
    const { endpoint } = this.#options.place;
    const gathers = this.#seen?.state?.phase === 'joining';
    const isHereOnly = gathers && isLoopback(endpoint.host);
    const hint = isHereOnly ? ` (nodes on other machines cannot reach ${formatHostPort(endpoint)})` : '';
    const timeoutMs = gathers ? this.#situation.timing.joinTimeoutMs : Infinity;
    this.#lines.report(`${reason}${hint}`, this.#waitsSince, timeoutMs);
  }

  /** The store ends with this node: wait until the other nodes have read the result of the job. */
  async #untilOthersHaveRead(): Promise<void> {
    const until =
      performance.now() + Math.min(this.#options.closeTimeoutMs, leaseLength(this.#situation.timing));
    while (this.#someoneHasNotRead() && performance.now() < until) await sleep(20);
  }

  #someoneHasNotRead(): boolean {
    const state = this.#seen?.state;
    if (state?.phase !== 'closed') return false;
    const others = [...state.participants.map(({ card }) => card), ...state.waitList];
    return others.some(({ id }) => id !== this.#options.card.id);
  }
}

function describeCut(because: Extract<Step, { kind: 'stop' }>['because']): string {
  if (because === 'lost') return 'the store was lost: stopping the workers until the nodes have joined again';
  return 'the store does not answer: stopping the workers before their ranks are assigned to other nodes';
}

/** Returns `ringrun: 06:12:03 node host1 (pid 17) joins`. In UTC, as hosts may have different time zones. */
export function describeEvent({ at, what }: RendezvousState['events'][number]): string {
  return `ringrun: ${new Date(at).toISOString().slice(11, 19)} ${what}`;
}
