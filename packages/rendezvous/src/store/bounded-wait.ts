import { formatDuration, StoreTimeoutError } from '@ringrun/core';
import { WaitReporter } from './wait-reporter.ts';

/**
 * A wait in a loop at a store: it ends at its deadline, and prints a line every few seconds. Every loop that another
 * process could keep running calls `goOn` in each turn.
 */
export class BoundedWait {
  readonly #startedAt = performance.now();
  readonly #timeoutMs: number;
  readonly #lines: WaitReporter;
  readonly #advice: string;

  /**
   * @param timeoutMs From now. Infinity for a wait whose end another process guarantees.
   * @param lines Prints the lines.
   * @param advice Sentences of the error that tell the user what to do.
   */
  constructor(timeoutMs: number, lines: WaitReporter, advice: string) {
    this.#timeoutMs = timeoutMs;
    this.#lines = lines;
    this.#advice = advice;
  }

  /**
   * @param what Completes "waiting for …".
   * @throws StoreTimeoutError without keys at the deadline.
   */
  goOn(what: string): void {
    if (performance.now() - this.#startedAt >= this.#timeoutMs) {
      throw new StoreTimeoutError(
        [],
        `Waited ${formatDuration(this.#timeoutMs)} for ${what}. ${this.#advice}`,
      );
    }
    this.#lines.report(what, this.#startedAt, this.#timeoutMs);
  }
}
