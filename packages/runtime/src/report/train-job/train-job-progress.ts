import { withoutCredentials } from '@ringrun/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { fractionDone, secondsLeft, statusOf } from './status.ts';
import type { TrainingProgress, TrainerStatus } from './status.ts';
import type { TrainerServer } from './server-variables.ts';
import { postStatus } from './trainer-server.ts';

/** The clock used for rates and intervals, in milliseconds. */
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

/** Metrics shown next to the progress, by name. Undefined ones are omitted. */
export type Metrics = Readonly<Record<string, number | undefined>>;

/**
 * Reports the progress of a TrainJob to Kubeflow Trainer. Requests run in the background, one at a time. A
 * failure never disturbs training and is logged once per kind.
 */
export class TrainJobProgress {
  readonly #server: Readonly<TrainerServer>;
  readonly #intervalMs: number;
  readonly #log: (line: string) => void;
  readonly #failures = new Set<string>();
  readonly #clock: Clock;
  readonly #startedAt: number;
  /** The completed fraction at the first reported step. */
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

  /** Starts an epoch, or resumes one mid-epoch: earlier progress is not counted in the rate. */
  begin(progress: TrainingProgress): void {
    this.#from ??= fractionDone(progress);
  }

  /** Records progress, and sends it if the interval has passed. Returns at once. */
  show(progress: TrainingProgress, metrics: Metrics): void {
    this.#fraction = fractionDone(progress);
    this.#metrics = metrics;
    if (this.isDue) this.#send(this.#status());
  }

  /** Sends the final status. Waits until a request is allowed, and until it has been sent. */
  async end(): Promise<void> {
    await this.#sendLast(
      statusOf(this.#fraction, this.#fraction === undefined ? undefined : 0, this.#metrics),
    );
  }

  /** Sends as `end` does, after a checkpoint was saved at `step` because of a preemption. */
  async endPreempted(step: number): Promise<void> {
    await this.#sendLast(statusOf(this.#fraction, undefined, { ...this.#metrics, preempted_at_step: step }));
  }

  async #sendLast(status: TrainerStatus): Promise<void> {
    await this.#sending;
    await this.#clock.sleep(Math.max(this.#nextAt - this.#clock.now(), 0));
    this.#send(status);
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
        this.#logOnce(error as NodeJS.ErrnoException);
      })
      .finally(() => (this.#sending = undefined));
  }

  #logOnce({ code = 'unknown', message }: NodeJS.ErrnoException): void {
    if (this.#failures.has(code)) return;
    this.#failures.add(code);
    this.#log(
      `ringrun: ${withoutCredentials(`${this.#server.url} did not accept the progress of this TrainJob (${code}: ${message})`)}. Training continues; ` +
        `ringrun retries every ${this.#intervalMs / 1000} s. (Printed once per kind of failure.)`,
    );
  }
}
