import type { Tcp } from './network.ts';

/** Shortest retransmission timeout of Linux. */
const leastTimeout = 0.2;

export interface PathOptions {
  /** Seconds, one way. */
  delay: number;
  roundTrip: number;
  /** Of the link, in bytes per second. */
  bandwidth: number;
  tcp: Tcp;
}

/**
 * A connection from one rank to another, first in, first out. In slow start, each round trip carries as many bytes as
 * were acknowledged in the last two, until the link is full. After each retransmission timeout without traffic, the
 * window is halved (Linux's tcp_slow_start_after_idle).
 */
export class Path {
  readonly delay: number;
  readonly bandwidth: number;
  readonly #roundTrip: number;
  readonly #initialWindow: number;
  /** The window that fills the link. */
  readonly #full: number;
  #window: number;
  #freeAt = 0;
  #roundEndsAt = -Infinity;
  #leftInRound = 0;

  constructor({ delay, roundTrip, bandwidth, tcp }: PathOptions) {
    this.delay = delay;
    this.#roundTrip = roundTrip;
    this.bandwidth = roundTrip > 0 ? Math.min(bandwidth, tcp.maxWindow / roundTrip) : bandwidth;
    this.#full = this.bandwidth * roundTrip;
    this.#initialWindow = tcp.initialWindow;
    this.#window = tcp.initialWindow;
  }

  /**
   * Sends a message. Returns when its last byte arrives, in seconds.
   *
   * @param at When its first byte is ready.
   * @param lastReady When its last byte is: the sender's uplink may be slower than the path.
   */
  send(at: number, lastReady: number, bytes: number): number {
    let time = Math.max(at, this.#freeAt);
    this.#restartAfter(time - this.#freeAt);
    let left = bytes;
    while (left > 0 && this.#window < this.#full) {
      if (time >= this.#roundEndsAt) this.#beginRound(time);
      const sent = Math.min(left, this.#leftInRound);
      this.#leftInRound -= sent;
      left -= sent;
      time += sent / this.bandwidth;
      if (left > 0) time = Math.max(time, this.#roundEndsAt);
    }
    this.#freeAt = Math.max(time + left / this.bandwidth, lastReady);
    return this.#freeAt + this.delay;
  }

  #restartAfter(idle: number): void {
    const timeouts = Math.floor(idle / (this.#roundTrip + leastTimeout));
    if (timeouts === 0) return;
    this.#window = Math.max(Math.min(this.#window, this.#full) / 2 ** timeouts, this.#initialWindow);
    this.#roundEndsAt = -Infinity;
  }

  #beginRound(time: number): void {
    // Every acknowledged byte adds one.
    if (this.#roundEndsAt > -Infinity) this.#window += this.#window - this.#leftInRound;
    this.#leftInRound = this.#window;
    this.#roundEndsAt = time + this.#roundTrip;
  }
}
