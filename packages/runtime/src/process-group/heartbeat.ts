import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { peek } from '@ringrun/rendezvous';
import type { Member } from './membership.ts';

/**
 * Milliseconds between two signs of life of a rank that forms a group. One store serves all ranks: it receives at most
 * 1000 signs of life a second.
 */
export function heartbeatIntervalMs(worldSize: number): number {
  return Math.max(1000, worldSize);
}

/**
 * Number of intervals without a sign of life after which a rank counts as dead: 10 s, and 3 intervals at least.
 * Intervals are counted by the observer, so that an observer that was stopped does not declare the others dead when it
 * continues.
 */
function silentIntervals(intervalMs: number): number {
  return intervalMs < 1000 ? 10 : Math.max(3, Math.ceil(10_000 / intervalMs));
}

const aliveKey = (rank: number) => `alive/${rank}`;

export interface HeartbeatOptions {
  intervalMs: number;
  /** Number of intervals for which the store may leave a call unanswered. */
  maxUnanswered: number;
  /** The error if it does not answer for longer. */
  unanswered: () => Error;
  /**
   * Called after each sign of life, with the milliseconds since the one before. Its errors end the heartbeat, except those of a
   * store that did not answer.
   */
  then: (sinceLastMs: number) => Promise<void>;
}

/** Writes a sign of life of this rank at every interval. Does not keep the process alive. */
export class Heartbeat {
  /** Never resolves; rejects with the first error, unless the heartbeat was stopped first. */
  readonly failed: Promise<never>;
  readonly #store: Store;
  readonly #self: Member;
  readonly #options: HeartbeatOptions;
  readonly #timer: NodeJS.Timeout;
  #reject!: (error: unknown) => void;
  #count = 0;
  #isPending = false;
  #unanswered = 0;
  #isStopped = false;
  #lastAt = performance.now();

  constructor(store: Store, self: Member, options: HeartbeatOptions) {
    this.#store = store;
    this.#self = self;
    this.#options = options;
    this.failed = new Promise<never>((_, reject) => {
      this.#reject = reject;
    });
    this.failed.catch(() => undefined);
    void this.#beat(false);
    this.#timer = setInterval(() => {
      this.#atInterval();
    }, options.intervalMs).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** Ends the signs of life, and rejects `failed` with the error. */
  fail(error: unknown): void {
    if (this.#isStopped) return;
    this.stop();
    this.#reject(error);
  }

  #atInterval(): void {
    if (!this.#isPending) void this.#beat(true);
    else if (++this.#unanswered >= this.#options.maxUnanswered) this.fail(this.#options.unanswered());
  }

  async #beat(isLater: boolean): Promise<void> {
    this.#isPending = true;
    try {
      this.#count += 1;
      await this.#store.set(aliveKey(this.#self.rank), `${this.#self.token} ${this.#count}`);
      this.#unanswered = 0;
      const now = performance.now();
      const sinceLastMs = now - this.#lastAt;
      this.#lastAt = now;
      if (isLater && !this.#isStopped) await this.#options.then(sinceLastMs);
    } catch (error) {
      if (!isPassing(error)) this.fail(error);
    }
    this.#isPending = false;
  }
}

/** Detects ranks that have stopped writing signs of life. */
export class SilenceDetector {
  readonly #store: Store;
  readonly #intervalMs: number;
  readonly #seen = new Map<number, { sign: string; times: number }>();

  constructor(store: Store, intervalMs: number) {
    this.#store = store;
    this.#intervalMs = intervalMs;
  }

  get intervalMs(): number {
    return this.#intervalMs;
  }

  /**
   * Reads the rank's sign of life. Must be called once per interval until the result is `alive` or `silent`; `absent` is
   * an unknown rank that never wrote one.
   */
  async observe(rank: number): Promise<'alive' | 'silent' | 'unknown' | 'absent'> {
    const sign = (await peek(this.#store, aliveKey(rank))) ?? '';
    const last = this.#seen.get(rank);
    const unknown = sign === '' ? 'absent' : 'unknown';
    if (last?.sign === sign && ++last.times < silentIntervals(this.#intervalMs)) return unknown;
    this.#seen.delete(rank);
    if (last !== undefined) return last.sign === sign ? 'silent' : 'alive';
    this.#seen.set(rank, { sign, times: 0 });
    return unknown;
  }
}

/** Whether the store did not answer, or the connection to it broke: the next sign of life compensates for it. */
export function isPassing(error: unknown): boolean {
  return (
    error instanceof StoreTimeoutError ||
    (error instanceof RingrunError && error.code === 'ERR_STORE_INTERRUPTED')
  );
}
