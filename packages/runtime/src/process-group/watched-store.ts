import type { Store } from '@ringrun/core';
import { PrefixStore, missingKeysOf } from '@ringrun/rendezvous';
import { isPassing } from './heartbeat.ts';
import type { SilenceDetector } from './heartbeat.ts';

/** Number of intervals before the ranks are first checked: forming a group usually takes less. */
const firstLookAfter = 2;
const prefix = 'group/0';
/** Ranks observed at a time. */
const maxObserved = 16;

export interface Watch {
  detector: SilenceDetector;
  /** Rejects if this rank can no longer form the group. */
  failed: Promise<never>;
  /** Creates the error about a silent rank. Undefined if the rank has left. */
  dead: (rank: number) => Promise<Error | undefined>;
}

/** The keys of a group that is being formed. A call that waits for the key of a dead rank throws PeerDiedError. */
export class WatchedStore extends PrefixStore {
  /** The same keys without the watch. */
  readonly #keys: Store;
  readonly #rank: number;
  readonly #watch: Watch;

  /** @param rank This rank. */
  constructor(store: Store, rank: number, watch: Watch) {
    super(prefix, store);
    this.#keys = new PrefixStore(prefix, store);
    this.#rank = rank;
    this.#watch = watch;
  }

  override get(key: string, options?: { timeoutMs?: number }): Promise<Uint8Array> {
    return this.#unlessDead([key], super.get(key, options));
  }

  override multiGet(keys: readonly string[], options?: { timeoutMs?: number }): Promise<Uint8Array[]> {
    return this.#unlessDead(keys, super.multiGet(keys, options));
  }

  override wait(keys: readonly string[], options?: { timeoutMs?: number }): Promise<void> {
    return this.#unlessDead(keys, super.wait(keys, options));
  }

  async #unlessDead<T>(keys: readonly string[], call: Promise<T>): Promise<T> {
    call.catch(() => undefined);
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const died = new Promise<never>((_, reject) => {
      const look = (afterMs: number) => {
        timer = setTimeout(() => {
          void this.#throwIfDead(keys)
            .catch((error: unknown) => {
              if (!isPassing(error)) throw error;
            })
            .then(() => {
              if (!isOver) look(this.#watch.detector.intervalMs);
            }, reject);
        }, afterMs).unref();
      };
      look(firstLookAfter * this.#watch.detector.intervalMs);
    });
    died.catch(() => undefined);
    try {
      return await Promise.race([call, died, this.#watch.failed]);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
  }

  async #throwIfDead(keys: readonly string[]): Promise<void> {
    const missing = await missingKeysOf(this.#keys, keys);
    const ranks = missing.map(writerOf).filter((rank) => rank !== this.#rank);
    for (const rank of ranks.slice(0, maxObserved)) {
      if ((await this.#watch.detector.observe(rank)) !== 'silent') continue;
      const death = await this.#watch.dead(rank);
      if (death) throw death;
    }
  }
}

/** The rank that writes the key: keys of all ranks end in their number, others are written by rank 0. */
function writerOf(key: string): number {
  return Number(/\/(\d+)$/.exec(key)?.[1] ?? 0);
}
