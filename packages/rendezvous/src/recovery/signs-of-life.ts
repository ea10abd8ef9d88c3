import type { Clock } from '../clock.ts';
import type { Process } from './decide.ts';
import { hasEnded } from './process-space.ts';
import type { RecoveryKeys } from './recovery-keys.ts';

const intervalMs = 1000;

/** All ranks of a job write at most so many signs of life in a second, each of them at least one in 5 s. */
const signsPerSecond = 2000;
const longestIntervalMs = 5000;

/**
 * Milliseconds without a sign of life after which a rank that others wait for counts as dead. Computing blocks the event
 * loop, so this time must be longer than a training step.
 */
const silentAfterMs = 30_000;

/** Milliseconds between two signs of life of a rank. */
export function signIntervalMs(ranks: number): number {
  return Math.min(Math.max(intervalMs, (1000 * ranks) / signsPerSecond), longestIntervalMs);
}

/** Writes signs of life of this process, and detects processes that have stopped writing theirs. */
export class SignsOfLife {
  readonly #silent = new Set<string>();
  readonly #own: Process;
  readonly #keys: RecoveryKeys;
  readonly #clock: Clock;
  /** Stops the signs of life. */
  readonly stop: () => void;
  #seen = new Map<string, { sign: string | undefined; forMs: number }>();
  #lookedAt: number;
  #count = 0;

  /**
   * @param then called every second. Its errors are ignored.
   * @param ranks of the job. Default: 1.
   */
  constructor(keys: RecoveryKeys, own: Process, clock: Clock, then: () => Promise<void>, ranks = 1) {
    this.#keys = keys;
    this.#own = own;
    this.#clock = clock;
    this.#lookedAt = clock.now();
    let isPending = false;
    const wait = Math.ceil(signIntervalMs(ranks) / intervalMs);
    const beat = async () => {
      this.#count += 1;
      if (this.#count % wait === 0) await keys.setSignOfLife(own, this.#count);
      await then();
    };
    this.stop = clock.every(intervalMs, () => {
      if (isPending) return;
      isPending = true;
      beat()
        // Ignored: the next call that needs the store reports its failure.
        .catch(() => undefined)
        .finally(() => {
          isPending = false;
        });
    });
  }

  /** Whether the process has ended, if this host can determine it, or has been silent for too long. */
  readonly isDead = (one: Process): boolean => {
    return this.#silent.has(one.token) || hasEnded(one, this.#own.space);
  };

  /** Counts the time without a sign of life. A check after a long pause, as after SIGSTOP, counts as one interval. */
  async observe(processes: readonly Process[]): Promise<void> {
    const now = this.#clock.now();
    const passedMs = Math.min(now - this.#lookedAt, intervalMs);
    this.#lookedAt = now;
    const seen = new Map<string, { sign: string | undefined; forMs: number }>();
    const signs = await this.#keys.signsOfLife(processes);
    for (const [i, one] of processes.entries()) {
      const sign = signs[i];
      const last = this.#seen.get(one.token);
      const forMs = last?.sign === sign && last !== undefined ? last.forMs + passedMs : 0;
      seen.set(one.token, { sign, forMs });
      if (forMs >= silentAfterMs) this.#silent.add(one.token);
    }
    this.#seen = seen;
  }
}
