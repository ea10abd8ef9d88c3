import { randomUUID } from 'node:crypto';
import { repeat, systemClock } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { EventPrinter } from './event-printer.ts';
import { mustBeGoneAt } from './lease.ts';
import { coordinate } from './coordinator.ts';
import { Follower } from './follower.ts';
import { Leader } from './leader.ts';
import { nextStep } from './next-step.ts';
import { hasOthers } from './phases/closed.ts';
import { endWithoutStore } from './lost-nodes.ts';
import { roundOf } from './round.ts';
import {
  joinedSince,
  leaseLength,
  leaseOfWorkers,
  newNodeState,
  onEnded,
  onFailing,
  onLook,
  onRenewed,
  onStarted,
  onState,
  onStopping,
  onStoreLost,
} from './node-state.ts';
import type { NodeState } from './node-state.ts';
import { describeCut } from './step.ts';
import type { Clock as Reading, Step } from './step.ts';
import { RendezvousClient, isFatal, isLost } from './rendezvous-client.ts';
import { countOf, isSame, nameOf } from './rendezvous-state.ts';
import type { NodeEnd, RendezvousState } from './rendezvous-state.ts';
import type { RendezvousEnd, RendezvousOptions } from './rendezvous-options.ts';
import type { RunningWorkers } from './worker-control.ts';
import { formatHostPort, isLoopback } from '../store/endpoint.ts';
import { WaitReporter } from '../store/wait-reporter.ts';

/** Milliseconds for the workers to end after a failure or the death of a node: they cannot finish. */
const failureGraceMs = 3000;

/** Milliseconds between two attempts of a call that the store does not answer. */
const retryEveryMs = 100;

/** Milliseconds that a leaving node waits for the store to confirm it. */
const leaveTimeoutMs = 3000;

/**
 * The I/O around `nextStep`: runs this node's part of a job until the job ends or the node leaves. Reads, heartbeats
 * and timeouts run independently, so that a store without answers blocks none of them.
 */
export class Rendezvous {
  readonly #options: RendezvousOptions;
  readonly #clock: Clock;
  readonly #waits: WaitReporter;
  readonly #events: EventPrinter;
  readonly #over = new AbortController();
  #nodeState: NodeState;
  #client: RendezvousClient | undefined;
  /** The whole state if this node leads, otherwise its part. Undefined before the first. */
  #state: RendezvousState | undefined;
  /** Undefined before the first connection to this store. */
  #role: Leader | Follower | undefined;
  /** The connection whose store is known to be that of the state. */
  #greeted: RendezvousClient | undefined;
  #running: RunningWorkers | undefined;
  #isLookingForPort = false;
  #waitsSince: number;
  #leftAt: number | undefined;
  #finish!: (end: NodeEnd) => void;
  #fail!: (error: unknown) => void;

  constructor(options: RendezvousOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#waitsSince = this.#clock.now();
    this.#waits = new WaitReporter(undefined, options.log, () => this.#clock.now());
    this.#events = new EventPrinter(options.log);
    const { terms, timing, runId } = options;
    const node = { ...options.node, address: '' };
    this.#nodeState = newNodeState(
      { node, terms, timing, runId, freshName: randomUUID() },
      this.#clock.now(),
    );
  }

  /**
   * Resolves after this node's workers have ended, with how its part ended.
   *
   * @throws RingrunError if the store cannot be reached or served.
   */
  async run(): Promise<RendezvousEnd> {
    const { leaving, lookEveryMs, store } = this.#options;
    const over = new Promise<NodeEnd>((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    const leave = () => {
      this.#nodeState = { ...this.#nodeState, leaving: String(leaving.reason) };
      this.#act();
    };
    if (leaving.aborted) leave();
    leaving.addEventListener('abort', leave, { signal: this.#over.signal });
    const stopTicking = this.#clock.every(lookEveryMs, () => {
      this.#act();
    });
    void this.#watchState();
    void this.#sendHeartbeats();
    void this.#checkHeartbeats();
    try {
      const end = await over;
      if (store.isServer && end.kind !== 'left') await this.#untilOthersHaveRead();
      return { end, state: this.#state ?? this.#nodeState.before };
    } finally {
      stopTicking();
      this.#over.abort();
      await this.#client?.close();
    }
  }

  async #watchState(): Promise<void> {
    while (!this.#over.signal.aborted) {
      try {
        const client = (this.#client ??= await this.#connect());
        if (this.#greeted !== client) await this.#greet(client);
        await this.#watch(client, this.#role!);
      } catch (error) {
        await this.#onError(error);
      }
    }
  }

  async #watch(client: RendezvousClient, role: Leader | Follower): Promise<void> {
    if (role instanceof Leader) {
      const facts = await role.collect(client);
      const state = this.#state;
      if (facts.length > 0 && state)
        this.#onState(role.take(state, facts, this.#nodeState, this.#readClock()));
      return;
    }
    // The first nodes of a job join before the others.
    const nodes = Math.max(this.#options.terms.min, this.#state ? countOf(this.#state) : 1);
    const state = await role.read(client, nodes);
    if (state) this.#onState(state);
  }

  async #connect(): Promise<RendezvousClient> {
    const client = await RendezvousClient.open(this.#options.store);
    const node = { ...this.#options.node, address: await this.#options.address() };
    this.#nodeState = { ...this.#nodeState, node };
    void this.#sendHeartbeat(client);
    return client;
  }

  /** After a connection: a store that was replaced while this node was cut off has another state. */
  async #greet(client: RendezvousClient): Promise<void> {
    const { isServer } = this.#options.store;
    const isKnown = isServer || !this.#state || (await client.readIncarnation()) === this.#state.incarnation;
    if (!isKnown) this.#loseStore();
    const { id } = this.#options.node;
    this.#role ??= isServer ? new Leader(id, this.#clock, this.#over.signal) : new Follower(id, this.#clock);
    this.#greeted = client;
    this.#act();
  }

  async #onError(error: unknown): Promise<void> {
    if (this.#over.signal.aborted) return;
    if (isFatal(error) || !this.#client) {
      this.#fail(error);
      return;
    }
    if (!isLost(error) && !this.#isCutOffForLong()) {
      await this.#clock.delay(retryEveryMs);
      return;
    }
    await this.#client.close();
    this.#client = undefined;
    if (isLost(error)) this.#loseStore();
  }

  /** After a lease without answers, reconnect: the store server may have another address now. */
  #isCutOffForLong(): boolean {
    return this.#clock.now() - this.#nodeState.lease.renewedAt > leaseLength(this.#nodeState.timing);
  }

  #loseStore(): void {
    const last = this.#state;
    this.#state = undefined;
    this.#role = undefined;
    this.#nodeState = onStoreLost(this.#nodeState, last, randomUUID(), this.#clock.now());
    if (last?.phase === 'closed' && !this.#running) this.#finish(last.verdict!);
    this.#act();
  }

  async #sendHeartbeats(): Promise<void> {
    await repeat(this.#clock, this.#options.timing.keepAliveIntervalMs, this.#over.signal, () => {
      // Not awaited, so that the next heartbeat does not wait for this answer.
      if (this.#client) void this.#sendHeartbeat(this.#client);
    });
  }

  async #sendHeartbeat(client: RendezvousClient): Promise<void> {
    const sentAt = this.#clock.now();
    try {
      await client.sendHeartbeat(this.#options.node.id);
    } catch {
      // The lease expires, and `#watchState` meets and handles the same error.
      return;
    }
    if (client !== this.#client && this.#client) return;
    const wasCutOff = this.#isCutOffForLong();
    this.#nodeState = onRenewed(this.#nodeState, sentAt);
    this.#extendWorkers();
    // The leader may have deleted the part with which this node would learn that it was removed.
    if (wasCutOff && this.#role instanceof Follower && this.#state)
      await this.#post(this.#role, undefined, true);
  }

  /** The workers end with the lease even if this process is stopped. */
  #extendWorkers(): void {
    this.#running?.mustRenewWithin(mustBeGoneAt(leaseOfWorkers(this.#nodeState)) - this.#clock.now());
  }

  async #checkHeartbeats(): Promise<void> {
    await repeat(this.#clock, this.#options.timing.keepAliveIntervalMs / 2, this.#over.signal, async () => {
      if (!(this.#role instanceof Leader) || !this.#client || !this.#state) return;
      // `#watchState` meets and handles the same error.
      const silent = await this.#role
        .silentNodes(this.#client, this.#state, this.#nodeState.timing)
        .catch(() => this.#nodeState.silent);
      this.#nodeState = { ...this.#nodeState, silent };
    });
  }

  #onState(state: RendezvousState): void {
    const last = this.#state;
    this.#state = state;
    if (!isSame(last, state) || state.part) {
      this.#nodeState = onState(this.#nodeState, last, state, this.#clock.now());
      if (this.#role instanceof Leader) this.#role.forget(joinedSince(last, state));
      this.#events.print(state.events, state.part && nameOf(this.#nodeState.node));
      this.#options.onEvents?.(state.events);
    }
    if (state.part?.end) this.#finish(state.part.end);
    else this.#act();
    if (this.#role instanceof Leader) this.#role.publish(this.#state, () => this.#client);
  }

  #act(): void {
    if (this.#over.signal.aborted) return;
    if (this.#leavesAtOnce()) {
      this.#finish({ kind: 'left', why: this.#nodeState.leaving! });
      return;
    }
    const clock = this.#readClock();
    this.#nodeState = onLook(this.#nodeState, clock.now, this.#options.lookEveryMs);
    const last = this.#state ?? this.#nodeState.before;
    const end = endWithoutStore(last, this.#nodeState, clock);
    const mayBegin = this.#role !== undefined || this.#running;
    if (!end && !mayBegin) return;
    try {
      this.#perform(end ?? this.#nextStep(clock));
    } catch (error) {
      // For example, because the disk for the workers' output is full.
      this.#fail(error);
    }
  }

  #nextStep(clock: Reading): Step {
    const forAll = this.#state && coordinate(this.#state, this.#nodeState, clock);
    return forAll ?? nextStep(this.#state, this.#nodeState, clock);
  }

  #readClock(): Reading {
    return { now: this.#clock.now(), wall: this.#clock.wall() };
  }

  /** A leaving node does not wait for a store that does not answer. */
  #leavesAtOnce(): boolean {
    if (this.#nodeState.leaving === undefined || this.#running) return false;
    this.#leftAt ??= this.#clock.now();
    return !this.#client || this.#clock.now() - this.#leftAt > leaveTimeoutMs;
  }

  #perform(step: Step): void {
    if (step.kind !== 'wait') this.#waitsSince = this.#clock.now();
    switch (step.kind) {
      case 'write':
        this.#write(step);
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
        this.#reportWait(step.reason);
    }
  }

  /** The leader writes the state itself. Another node asks it to do so, and reads the result. */
  #write(step: Extract<Step, { kind: 'write' }>): void {
    if (this.#role instanceof Follower) {
      void this.#post(this.#role, step.end);
      return;
    }
    if (!this.#role) return;
    if (step.end) this.#finish(step.end);
    this.#onState(step.state);
  }

  async #post(role: Follower, end: NodeEnd | undefined, again = false): Promise<void> {
    const client = this.#client;
    if (!client) return;
    try {
      const isSent = await role.post(client, this.#nodeState, this.#state, again);
      // The job is over, whatever the leader reads.
      const isOver = this.#state?.phase === 'closed' && end?.kind === this.#state.verdict?.kind;
      if (isSent && isOver) this.#finish(end!);
      else if (isSent) this.#act();
    } catch (error) {
      if (isFatal(error) && !this.#over.signal.aborted && client === this.#client) this.#fail(error);
    }
  }

  async #findPort(): Promise<void> {
    if (this.#isLookingForPort) return;
    this.#isLookingForPort = true;
    const { round } = this.#state!;
    const port = await this.#options.workers.findFreePort();
    this.#isLookingForPort = false;
    this.#nodeState = { ...this.#nodeState, freePort: { round, port } };
    this.#act();
  }

  #start(): void {
    const state = this.#state!;
    const running = this.#options.workers.start(
      roundOf(state, this.#options.node.id, this.#options.store.localEndpoint)!,
      () => this.#client?.store,
    );
    this.#running = running;
    this.#nodeState = onStarted(this.#nodeState, state);
    this.#extendWorkers();
    void running.failing.then(() => {
      if (this.#running !== running) return;
      this.#nodeState = onFailing(this.#nodeState);
      this.#act();
    });
    void running.ended.then(({ end, rootCause }) => {
      this.#running = undefined;
      this.#nodeState = onEnded(this.#nodeState, end, rootCause);
      this.#act();
    });
  }

  #stop(step: Extract<Step, { kind: 'stop' }>): void {
    const { cutOff, because } = step;
    if (!this.#running) return;
    // After the lease, the ranks may be assigned to other nodes.
    const leaseLeftMs = Math.max(0, mustBeGoneAt(leaseOfWorkers(this.#nodeState)) - this.#clock.now());
    this.#nodeState = onStopping(this.#nodeState, cutOff);
    const { gracePeriodMs } = this.#options;
    const graceMs = because === 'joined' || because === 'left' ? gracePeriodMs : failureGraceMs;
    const most = cutOff ? leaseLeftMs : Infinity;
    this.#running.end(Math.min(graceMs, most), Math.min(Math.max(graceMs, gracePeriodMs), most));
    if (cutOff) this.#options.log(`ringrun: ${describeCut(step)}`);
  }

  #reportWait(reason: string): void {
    if (this.#state?.phase === 'running' && this.#running) {
      this.#waitsSince = this.#clock.now();
      return;
    }
    const { endpoint } = this.#options.store;
    const isJoining = this.#state?.phase === 'joining';
    const isHereOnly = isJoining && isLoopback(endpoint.host);
    const hint = isHereOnly ? ` (nodes on other machines cannot reach ${formatHostPort(endpoint)})` : '';
    const timeoutMs = isJoining ? this.#nodeState.timing.joinTimeoutMs : Infinity;
    this.#waits.report(`${reason}${hint}`, this.#waitsSince, timeoutMs);
  }

  /** The store ends with this node: wait until the other nodes have read the result of the job. */
  async #untilOthersHaveRead(): Promise<void> {
    const startedAt = this.#clock.now();
    const limitMs = Math.min(this.#options.closeTimeoutMs, leaseLength(this.#nodeState.timing));
    while (hasOthers(this.#state, this.#options.node.id) && this.#clock.now() < startedAt + limitMs) {
      this.#waits.report('the other nodes to read the result of the job', startedAt, limitMs);
      await this.#clock.delay(20);
    }
  }
}
