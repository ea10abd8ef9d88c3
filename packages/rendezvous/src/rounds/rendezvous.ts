import { randomUUID } from 'node:crypto';
import { systemClock } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { EventPrinter } from './event-printer.ts';
import { forgetNodes, mustBeGoneAt, noLiveness, silentNodes, updateLiveness } from './lease.ts';
import type { Liveness } from './lease.ts';
import { nextStep } from './next-step.ts';
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
import type { NodeEnd, Step } from './step.ts';
import { RendezvousClient, isFatal, isLost, isSame } from './rendezvous-client.ts';
import type { StoredState } from './rendezvous-client.ts';
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
  #stored: StoredState | undefined;
  #liveness: Liveness = noLiveness;
  #running: RunningWorkers | undefined;
  #isWriting = false;
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
      return { end, state: this.#stored?.state ?? this.#nodeState.before };
    } finally {
      stopTicking();
      this.#over.abort();
      await this.#client?.close();
    }
  }

  // --- Background loops.

  async #watchState(): Promise<void> {
    while (!this.#over.signal.aborted) {
      try {
        this.#client ??= await this.#connect();
        this.#onRead(await this.#client.read());
        await this.#client.waitForChange(this.#stored?.state?.version ?? 0);
      } catch (error) {
        await this.#onError(error);
      }
    }
  }

  async #connect(): Promise<RendezvousClient> {
    const client = await RendezvousClient.open(this.#options.store);
    const node = { ...this.#options.node, address: await this.#options.address() };
    this.#nodeState = { ...this.#nodeState, node };
    this.#liveness = noLiveness;
    void this.#sendHeartbeat(client);
    return client;
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
    const last = this.#stored?.state;
    this.#stored = undefined;
    this.#nodeState = onStoreLost(this.#nodeState, last, randomUUID(), this.#clock.now());
    if (last?.phase === 'closed' && !this.#running) this.#finish(last.verdict!);
    this.#act();
  }

  async #sendHeartbeats(): Promise<void> {
    await this.#every(this.#options.timing.keepAliveIntervalMs, () => {
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
    this.#nodeState = onRenewed(this.#nodeState, sentAt);
    this.#extendWorkers();
  }

  /** The workers end with the lease even if this process is stopped. */
  #extendWorkers(): void {
    this.#running?.mustRenewWithin(mustBeGoneAt(leaseOfWorkers(this.#nodeState)) - this.#clock.now());
  }

  async #checkHeartbeats(): Promise<void> {
    await this.#every(this.#options.timing.keepAliveIntervalMs / 2, async () => {
      if (!this.#options.store.isServer || !this.#client) return;
      // `#watchState` meets and handles the same error.
      await this.#readHeartbeats(this.#client).catch(() => undefined);
    });
  }

  async #readHeartbeats(client: RendezvousClient): Promise<void> {
    const state = this.#stored?.state;
    if (!state) return;
    const nodes = [...state.participants.map(({ node }) => node), ...state.waitList];
    const counts = await client.readHeartbeats(nodes.map(({ id }) => id));
    const { keepAliveIntervalMs } = this.#options.timing;
    this.#liveness = updateLiveness(this.#liveness, counts, this.#clock.now(), keepAliveIntervalMs);
    const silent = silentNodes(this.#liveness, leaseLength(this.#nodeState.timing));
    this.#nodeState = { ...this.#nodeState, silent };
  }

  async #every(intervalMs: number, act: () => Promise<void> | void): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      await act();
      await this.#clock.delay(intervalMs, signal).catch(() => undefined);
    }
  }

  // --- Reading the state and acting on it.

  #onRead(stored: StoredState): void {
    const { state } = stored;
    const last = this.#stored?.state;
    if (last && last.incarnation !== state?.incarnation) this.#loseStore();
    else if (last && state && state.version < last.version) return;
    const before = this.#stored?.state;
    this.#stored = stored;
    if (state && !isSame(before, state)) {
      this.#nodeState = onState(this.#nodeState, before, state, this.#clock.now());
      this.#liveness = forgetNodes(this.#liveness, joinedSince(before, state));
      this.#events.print(state.events);
      this.#options.onEvents?.(state.events);
    }
    this.#act();
  }

  #act(): void {
    if (this.#over.signal.aborted) return;
    if (this.#leavesAtOnce()) {
      this.#finish({ kind: 'left', why: this.#nodeState.leaving! });
      return;
    }
    const clock = { now: this.#clock.now(), wall: this.#clock.wall() };
    this.#nodeState = onLook(this.#nodeState, clock.now, this.#options.lookEveryMs);
    const last = this.#stored?.state ?? this.#nodeState.before;
    const end = endWithoutStore(last, this.#nodeState, clock);
    const mayBegin = this.#stored !== undefined || this.#running;
    if (!end && !mayBegin) return;
    try {
      this.#perform(end ?? nextStep(this.#stored?.state, this.#nodeState, clock));
    } catch (error) {
      // For example, because the disk for the workers' output is full.
      this.#fail(error);
    }
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
        this.#reportWait(step.reason);
    }
  }

  async #write({ state, end }: Extract<Step, { kind: 'write' }>): Promise<void> {
    const client = this.#client;
    if (this.#isWriting || !client || !this.#stored) return;
    this.#isWriting = true;
    try {
      const there = await client.replace(this.#stored.bytes, state);
      this.#isWriting = false;
      if (client !== this.#client) return;
      this.#onRead(there);
      if (end && isSame(there.state, state)) this.#finish(end);
    } catch (error) {
      this.#isWriting = false;
      if (isFatal(error) && !this.#over.signal.aborted && client === this.#client) this.#fail(error);
    }
  }

  async #findPort(): Promise<void> {
    if (this.#isLookingForPort) return;
    this.#isLookingForPort = true;
    const { round } = this.#stored!.state!;
    const port = await this.#options.workers.findFreePort();
    this.#isLookingForPort = false;
    this.#nodeState = { ...this.#nodeState, freePort: { round, port } };
    this.#act();
  }

  #start(): void {
    const state = this.#stored!.state!;
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

  #stop({ cutOff, because }: Extract<Step, { kind: 'stop' }>): void {
    if (!this.#running) return;
    // After the lease, the ranks may be assigned to other nodes.
    const leaseLeftMs = Math.max(0, mustBeGoneAt(leaseOfWorkers(this.#nodeState)) - this.#clock.now());
    this.#nodeState = onStopping(this.#nodeState, cutOff);
    const { gracePeriodMs } = this.#options;
    const graceMs = because === 'joined' || because === 'left' ? gracePeriodMs : failureGraceMs;
    const most = cutOff ? leaseLeftMs : Infinity;
    this.#running.end(Math.min(graceMs, most), Math.min(Math.max(graceMs, gracePeriodMs), most));
    if (cutOff) this.#options.log(`ringrun: ${describeCut(because)}`);
  }

  #reportWait(reason: string): void {
    if (this.#stored?.state?.phase === 'running' && this.#running) {
      this.#waitsSince = this.#clock.now();
      return;
    }
    const { endpoint } = this.#options.store;
    const isJoining = this.#stored?.state?.phase === 'joining';
    const isHereOnly = isJoining && isLoopback(endpoint.host);
    const hint = isHereOnly ? ` (nodes on other machines cannot reach ${formatHostPort(endpoint)})` : '';
    const timeoutMs = isJoining ? this.#nodeState.timing.joinTimeoutMs : Infinity;
    this.#waits.report(`${reason}${hint}`, this.#waitsSince, timeoutMs);
  }

  /** The store ends with this node: wait until the other nodes have read the result of the job. */
  async #untilOthersHaveRead(): Promise<void> {
    const until =
      this.#clock.now() + Math.min(this.#options.closeTimeoutMs, leaseLength(this.#nodeState.timing));
    const [startedAt, limitMs] = [this.#clock.now(), until - this.#clock.now()];
    while (this.#someNodeHasNotRead() && this.#clock.now() < until) {
      this.#waits.report('the other nodes to read the result of the job', startedAt, limitMs);
      await this.#clock.delay(20);
    }
  }

  #someNodeHasNotRead(): boolean {
    const state = this.#stored?.state;
    if (state?.phase !== 'closed') return false;
    const present = state.participants.filter(({ gone }) => gone === undefined);
    const others = [...present.map(({ node }) => node), ...state.waitList];
    return others.some(({ id }) => id !== this.#options.node.id);
  }
}

function describeCut(because: Extract<Step, { kind: 'stop' }>['because']): string {
  if (because === 'lost') return 'the store was lost: stopping the workers until the nodes have joined again';
  return 'the store does not answer: stopping the workers before their ranks are assigned to other nodes';
}
