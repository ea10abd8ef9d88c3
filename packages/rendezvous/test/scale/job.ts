import { isSameList } from '@ringrun/core';
import type { Timing } from '../../src/rounds/node-state.ts';
import { defaultRestartBackoff } from '../../src/rounds/restart-backoff.ts';
import type { JobTerms } from '../../src/rounds/rendezvous-state.ts';
import { firstRankOf } from '../../src/rounds/round.ts';
import type { Round } from '../../src/rounds/round.ts';
import { SimulatedTime } from '../rounds/simulation/time.ts';
import { RanksHeld } from '../rounds/simulation/world.ts';
import { SimulatedLauncher } from './launcher.ts';
import { SimulatedServer, dataCenter } from './server.ts';
import type { Network, Traffic } from './server.ts';

/** Milliseconds from a death to the error of the other ranks' collective. */
const noticedWithinMs = 500;

/** Milliseconds of workers from SIGTERM to their end. */
const endWithinMs = 200;

export interface ScaleSettings {
  readonly seed: number;
  readonly nodes: number;
  /** Fewest nodes of a round. Default: all. */
  readonly min?: number;
  /** Milliseconds within which all launchers start. Default: 2000. */
  readonly startWithinMs?: number;
  /** Default: `dataCenter`. */
  readonly network?: Network;
  readonly timing?: Partial<Timing>;
}

const defaultTiming: Timing = {
  joinTimeoutMs: 600_000,
  lastCallMs: 30_000,
  keepAliveIntervalMs: 5000,
  keepAliveMaxAttempts: 3,
  // Simulated deaths follow each other faster than real ones, and their delays are no costs of the rendezvous.
  backoff: { ...defaultRestartBackoff, healthyMs: 0 },
};

/** A job of many nodes in simulated time, with the real rendezvous on each. Node 0 serves the store. */
export class ScaleJob {
  readonly time: SimulatedTime;
  readonly server: SimulatedServer;
  readonly terms: JobTerms;
  readonly timing: Timing;
  readonly processesPerNode = 8;
  readonly launchers: SimulatedLauncher[] = [];
  /** Milliseconds by which workers of a straggler end later. */
  readonly slowEnds = new Map<string, number>();
  /** When the last node started the workers of each round, and the number of the round. */
  readonly formed: { at: number; round: number; nodes: number }[] = [];
  /** Milliseconds in which a round that had begun did not run on all its nodes. */
  lostMs = 0;
  readonly #ranks = new RanksHeld();
  readonly #started = new Map<number, Set<string>>();
  /** One list for all nodes of a round: each of them computes its own. */
  #processes: readonly number[] = [];
  #brokenAt: number | undefined;
  #error: Error | undefined;
  #serial = 0;

  constructor({
    seed,
    nodes,
    min = nodes,
    network = dataCenter,
    startWithinMs = 2000,
    timing,
  }: ScaleSettings) {
    this.time = new SimulatedTime(seed);
    this.server = new SimulatedServer(this.time, network, 'store'.padEnd(36, '0'));
    this.terms = { id: 'none', backend: 'c10d', min, max: nodes, maxRestarts: 0 };
    this.timing = { ...defaultTiming, ...timing };
    for (let index = 0; index < nodes; index += 1) {
      this.time.agenda.after(this.time.random.between(0, startWithinMs), () => {
        this.start(index);
      });
    }
  }

  /** A launcher starts on a host, whose former one has ended. */
  start(index: number): void {
    this.launchers[index] = new SimulatedLauncher(this, index, this.#serial++);
  }

  /** The host of a launcher stops. The other ranks detect the death in their collectives. */
  kill(index: number): void {
    const { host } = this.launchers[index];
    this.launchers[index].die();
    for (const launcher of this.launchers) {
      const { workers } = launcher;
      this.time.agenda.after(this.time.random.between(0.1, 1) * noticedWithinMs, () => {
        if (launcher.isAlive) workers?.losePeer(host);
      });
    }
  }

  /** Runs until `isOver`. @throws Error if an invariant is violated, or after so many milliseconds. */
  async runUntil(isOver: () => boolean, withinMs: number): Promise<void> {
    const until = this.time.now + withinMs;
    await this.time.run(until, () => this.#error !== undefined || isOver());
    if (this.#error !== undefined) throw this.#error;
    if (!isOver()) throw new Error(`not over after ${withinMs} ms: ${this.#describe()}`);
  }

  /** Runs until the next round after `round` is formed, and returns it. */
  async untilFormed(
    round: number,
    withinMs = 600_000,
  ): Promise<{ at: number; round: number; nodes: number }> {
    await this.runUntil(() => (this.formed.at(-1)?.round ?? 0) > round, withinMs);
    return this.formed.at(-1)!;
  }

  /** The traffic of the store since an earlier moment. */
  trafficSince({ messages, bytes, busyMs }: Traffic): Traffic {
    const now = this.server.traffic;
    return {
      messages: now.messages - messages,
      bytes: now.bytes - bytes,
      busyMs: now.busyMs - busyMs,
    };
  }

  fail(error: unknown): void {
    this.#error ??= error as Error;
  }

  endMs({ host }: SimulatedLauncher): number {
    return this.time.random.between(0.5, 1) * endWithinMs + (this.slowEnds.get(host) ?? 0);
  }

  /** The round with a list of processes that it shares with other nodes. */
  shared(round: Round): Round {
    if (!isSameList(round.processesPerNode, this.#processes)) this.#processes = round.processesPerNode;
    return { ...round, processesPerNode: this.#processes };
  }

  /** A launcher starts the workers of a round. */
  onStart({ id }: SimulatedLauncher, round: Round): void {
    const number = round.restartCount + 1;
    const first = firstRankOf(round);
    const started = this.#started.get(number) ?? new Set();
    this.#started.set(number, started.add(id));
    try {
      for (let rank = first; rank < first + this.processesPerNode; rank += 1) this.#ranks.take(rank, id);
      if (started.size > round.groupWorldSize) throw new Error(`round ${number} has ${started.size} nodes`);
    } catch (error) {
      this.fail(error);
    }
    if (started.size < round.groupWorldSize) return;
    if (this.#brokenAt !== undefined) this.lostMs += this.time.now - this.#brokenAt;
    this.#brokenAt = undefined;
    this.formed.push({ at: this.time.now, round: number, nodes: started.size });
  }

  onEnded({ id }: SimulatedLauncher): void {
    this.#ranks.release(id);
    this.#brokenAt ??= this.time.now;
  }

  #describe(): string {
    const lines = this.launchers.flatMap(({ host, lines }) =>
      lines.slice(-2).map((line) => `${host} ${line}`),
    );
    return [`formed ${JSON.stringify(this.formed)}`, ...lines.slice(0, 20)].join('\n').slice(0, 3000);
  }
}
