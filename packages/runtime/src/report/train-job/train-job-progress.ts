import { setTimeout as sleep } from 'node:timers/promises';
import { fractionDone, secondsLeft, statusOf } from './status.ts';
import type { Standing, TrainerStatus } from './status.ts';
import type { TrainerServer } from './server-variables.ts';
import { postStatus } from './trainer-server.ts';

/** Time as the progress sees it, in milliseconds. */
export interface Clock {
  now: () => number;
  sleep: (ms: number) => Promise<unknown>;
}

export interface TrainJobProgressOptions {
  /** Minimum time between two requests in milliseconds. Default: 5000, the rate that the server accepts. */
  intervalMs?: number;
  /** Receives the line about a failure. Default: stderr. */
  log?: (line: string) => void;
  /** Default: the process's monotonic clock. */
  clock?: Clock;
}

const monotonicClock: Clock = { now: () => performance.now(), sleep };

/** Numbers that are shown beside the progress, by name; those that are undefined are left out. */
export type Metrics = Readonly<Record<string, number | undefined>>;

/**
 * Tells Kubeflow Trainer how far a TrainJob is. What goes wrong with that is said once for each kind of failure, and never disturbs the training: requests go
 * out beside it, one at a time.
 */
export class TrainJobProgress {
  readonly #server: Readonly<TrainerServer>;
  readonly #intervalMs: number;
  readonly #log: (line: string) => void;
  readonly #failures = new Set<string>();
  readonly #clock: Clock;
  readonly #startedAt: number;
  /** The part of the training that was done when the first step was reported. */
  #from: number | undefined;
  #fraction: number | undefined;
  #metrics: Metrics = {};
  #nextAt = -Infinity;
  #sending: Promise<void> | undefined;

  constructor(server: TrainerServer, options: TrainJobProgressOptions = {}) {
    this.#server = server;
    this.#intervalMs = options.intervalMs ?? 5000;
    this.#clock = options.clock ?? monotonicClock;
    this.#startedAt = this.#clock.now();
    this.#log = options.log ?? ((line) => process.stderr.write(`${line}\n`));
  }

  /** Whether a status would be sent now. */
  get isDue(): boolean {
    return this.#sending === undefined && this.#clock.now() >= this.#nextAt;
  }

  /** A step begins an epoch, or one is resumed in its middle: what was done before does not count for the rate. */
  begin(standing: Standing): void {
    this.#from ??= fractionDone(standing);
  }

  /** Where the training stands; is sent when it is due. Returns at once. */
  show(standing: Standing, metrics: Metrics): void {
    this.#fraction = fractionDone(standing);
    this.#metrics = metrics;
    if (this.isDue) this.#send(this.#status());
  }

  /** The last status: nothing is left to do. Waits until a request may be sent, and until it was. */
  async end(): Promise<void> {
    await this.#sending;
    await this.#clock.sleep(Math.max(this.#nextAt - this.#clock.now(), 0));
    this.#send(statusOf(this.#fraction, this.#fraction === undefined ? undefined : 0, this.#metrics));
    await this.#sending;
  }

  #status(): TrainerStatus {
    const seconds = (this.#clock.now() - this.#startedAt) / 1000;
    const [from, now] = [this.#from, this.#fraction];
    const left = from === undefined || now === undefined ? undefined : secondsLeft(from, now, seconds);
    return statusOf(now, left, this.#metrics);
  }

  #send(status: TrainerStatus): void {
    this.#nextAt = this.#clock.now() + this.#intervalMs;
    this.#sending = postStatus(this.#server, status)
      .catch((error: unknown) => {
        this.#sayOnce(error as NodeJS.ErrnoException);
      })
      .finally(() => (this.#sending = undefined));
  }

  #sayOnce({ code = 'unknown', message }: NodeJS.ErrnoException): void {
    if (this.#failures.has(code)) return;
    this.#failures.add(code);
    this.#log(
      `ringrun: the progress of this TrainJob was not taken by ${this.#server.url} (${code}: ${message}). Training goes on; ` +
        `it is tried again every ${this.#intervalMs / 1000} s, and this is not said again.`,
    );
  }
}
