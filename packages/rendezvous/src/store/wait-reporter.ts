import { formatDuration } from '@ringrun/core';
/** Milliseconds of waiting before the first line. */
const firstLineAfterMs = 2000;
const linesEveryMs = 5000;

/** Writes one line every few seconds of a wait: `ringrun: rank 0: waiting for rank 1 (5 s of 30 min)`. */
export class WaitReporter {
  readonly #who: string | undefined;
  readonly #write: (line: string) => void;
  readonly #now: () => number;
  #lastAt = -Infinity;

  /**
   * @param who Name of this process in the lines, such as `rank 1`.
   * @param write Receives each line. Default: writes to stderr.
   * @param now Time in milliseconds. Default: that of `performance`.
   */
  constructor(
    who: string | undefined,
    write?: (line: string) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#who = who;
    this.#now = now;
    this.#write = write ?? ((line) => process.stderr.write(`${line}\n`));
  }

  /**
   * Writes a line, unless the wait has just begun, the last line was written a moment ago, or the time is over, in
   * which case a more detailed error follows.
   */
  report(what: string, startedAt: number, timeoutMs: number): void {
    const now = this.#now();
    const waitedMs = now - startedAt;
    if (waitedMs < firstLineAfterMs || waitedMs >= timeoutMs || now - this.#lastAt < linesEveryMs) return;
    this.#lastAt = now;
    const who = this.#who === undefined ? '' : `${this.#who}: `;
    this.#write(
      `ringrun: ${who}waiting for ${what} (${formatDuration(waitedMs)} of ${formatDuration(timeoutMs)})`,
    );
  }
}
