import type { Store } from '@ringrun/core';
import type { Clock } from '../../src/clock.ts';
import { Rendezvous } from '../../src/rounds/rendezvous.ts';
import type { RendezvousEnd, RendezvousStore } from '../../src/rounds/rendezvous-options.ts';
import type { RootCause, WorkersEnd } from '../../src/rounds/rendezvous-state.ts';
import type { Round } from '../../src/rounds/round.ts';
import type { RunningWorkers, WorkerControl } from '../../src/rounds/worker-control.ts';
import { clockOf } from '../rounds/simulation/time.ts';
import { SimulatedClient } from './client.ts';
import type { Host } from './client.ts';
import type { ScaleJob } from './job.ts';

/** Milliseconds for which a launcher tries to connect, and between two attempts. */
const connectWithinMs = 600_000;
const connectEveryMs = 100;

const answerTimeoutMs = 5000;

/** One launcher: the real `Rendezvous` over a simulated store, workers and time. */
export class SimulatedLauncher implements Host, RendezvousStore, WorkerControl {
  readonly id: string;
  readonly host: string;
  readonly endpoint = { host: 'node00000', port: 29_400 };
  readonly localEndpoint = this.endpoint;
  readonly isServer: boolean;
  readonly clock: Clock;
  readonly lines: string[] = [];
  lagMs = 0;
  isAlive = true;
  workers: SimulatedWorkers | undefined;
  end: RendezvousEnd | undefined;
  readonly #job: ScaleJob;
  readonly #leaving = new AbortController();
  #clients = 0;

  /** @param serial makes the launchers of one host different */
  constructor(job: ScaleJob, index: number, serial: number) {
    this.#job = job;
    this.host = `node${String(index).padStart(5, '0')}`;
    this.id = `${this.host}-${String(serial).padStart(4, '0')}`.padEnd(36, '0');
    this.isServer = index === 0;
    this.clock = clockOf(job.time, this.runs);
    const { terms, timing } = job;
    const rendezvous = new Rendezvous({
      store: this,
      node: {
        id: this.id,
        host: this.host,
        pid: 1000 + serial,
        processesPerNode: job.processesPerNode,
        nodeRank: undefined,
        machine: this.host.padEnd(36, '0'),
        hostsStore: this.isServer,
      },
      address: () => `10.0.${index >> 8}.${index & 255}`,
      terms,
      timing,
      runId: 'run'.padEnd(36, '0'),
      workers: this,
      lookEveryMs: 500,
      gracePeriodMs: 30_000,
      closeTimeoutMs: 30_000,
      leaving: this.#leaving.signal,
      log: (line) => this.lines.push(line),
      clock: this.clock,
    });
    rendezvous.run().then(
      (end) => (this.end = end),
      (error: unknown) => {
        job.fail(error);
      },
    );
  }

  readonly runs = (): boolean => this.isAlive;

  /** The host stops, and its workers with it. */
  die(): void {
    this.isAlive = false;
    this.workers?.kill();
  }

  leave(): void {
    this.#leaving.abort('SIGTERM');
  }

  /** The first answer comes at once, or after the outage. */
  async connect(): Promise<Store> {
    const until = this.clock.now() + connectWithinMs;
    for (;;) {
      const name = `${this.id.slice(0, 32)}${String(this.#clients++).padStart(4, '0')}`;
      const client = new SimulatedClient(this.#job.server, this, name, answerTimeoutMs);
      try {
        await client.check([]);
        return client;
      } catch (error) {
        await client.close();
        if (this.clock.now() >= until) throw error;
      }
      await this.clock.delay(connectEveryMs);
    }
  }

  async findFreePort(): Promise<number> {
    await this.clock.delay(1);
    return 40_000;
  }

  start(round: Round): RunningWorkers {
    this.workers = new SimulatedWorkers(this, this.#job, this.#job.shared(round));
    return this.workers;
  }
}

/** The workers of one launcher in one round. */
export class SimulatedWorkers implements RunningWorkers {
  readonly failing: Promise<void>;
  readonly ended: Promise<{ end: WorkersEnd; rootCause: RootCause | undefined }>;
  readonly round: Round;
  readonly #launcher: SimulatedLauncher;
  readonly #job: ScaleJob;
  #fail!: () => void;
  #end!: (how: { end: WorkersEnd; rootCause: RootCause | undefined }) => void;
  #isOver = false;
  #isStopping = false;
  #cause: RootCause | undefined;
  #stopGuard: (() => void) | undefined;

  constructor(launcher: SimulatedLauncher, job: ScaleJob, round: Round) {
    this.#launcher = launcher;
    this.#job = job;
    this.round = round;
    this.failing = new Promise((resolve) => (this.#fail = resolve));
    this.ended = new Promise((resolve) => (this.#end = resolve));
    job.onStart(launcher, round);
  }

  runsIn(round: number): boolean {
    return !this.#isOver && this.round.restartCount + 1 === round;
  }

  /** A collective fails, because another rank has died. */
  losePeer(peer: string): void {
    if (this.#isOver || this.#isStopping || this.#cause) return;
    this.#cause = {
      kind: 'follows',
      exitCode: 1,
      headline: `rank ${this.round.groupRank} on ${this.#launcher.host} lost ${peer}`,
      text: `PeerDiedError: ${peer} died during allReduce of 25,000,000 float32. `.padEnd(600, '.'),
      startUpFingerprint: undefined,
    };
    this.#fail();
    this.#endSoon('failed');
  }

  kill(): void {
    this.#isOver = true;
    this.#stopGuard?.();
    this.#job.onEnded(this.#launcher);
  }

  end(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    if (!this.#cause) this.#endSoon('stopped');
  }

  mustRenewWithin(withinMs: number): void {
    this.#stopGuard?.();
    if (this.#isOver) return;
    this.#stopGuard = this.#launcher.clock.after(withinMs, () => {
      this.#over('stopped');
    });
  }

  /** Workers take a moment to end after SIGTERM. */
  #endSoon(end: WorkersEnd): void {
    this.#launcher.clock.after(this.#job.endMs(this.#launcher), () => {
      this.#over(end);
    });
  }

  #over(end: WorkersEnd): void {
    if (this.#isOver) return;
    this.kill();
    this.#end({ end, rootCause: this.#cause });
  }
}
