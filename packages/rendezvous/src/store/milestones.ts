/** A count of connections that is reported at 1, 10, 100, …: strangers do not fill the log. */
export class Milestones {
  readonly #report: (connections: string) => void;
  #count = 0;

  /** @param report Receives `1 connection`, `12 connections`, …. */
  constructor(report: (connections: string) => void) {
    this.#report = report;
  }

  add(count: number): void {
    const before = this.#count;
    this.#count += count;
    if (String(before).length === String(this.#count).length && before > 0) return;
    this.#report(this.#count === 1 ? '1 connection' : `${this.#count} connections`);
  }
}
