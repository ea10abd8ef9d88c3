import { HashStore } from '@ringrun/collectives';
import type { ProcessGroup } from '@ringrun/core';
import { AbandonableStore, FormationAbandonedError } from '@ringrun/rendezvous';
import type { Agreement, Generation, RecoveryKeys } from '@ringrun/rendezvous';
import type { Session } from '../process-group/session.ts';

/**
 * Milliseconds for the connections of a new group. A rank that dies meanwhile may be detected only when they end, so
 * each attempt has twice the time of the previous one.
 */
const connectMs = { first: 2000, max: 60_000 };

/** Connects the members of a generation, unless one of them abandons it. */
export class GroupConnector {
  readonly #session: Session;
  readonly #keys: RecoveryKeys;
  readonly #agreement: Agreement;
  #connectMs = connectMs.first;

  constructor(session: Session, keys: RecoveryKeys, agreement: Agreement) {
    this.#session = session;
    this.#keys = keys;
    this.#agreement = agreement;
  }

  async connect(current: Generation, rank: number): Promise<ProcessGroup> {
    const { timeoutMs, masterAddress, formGroup } = this.#session;
    const size = current.members.length;
    if (size === 1) return await formGroup({ store: new HashStore(), rank, size, timeoutMs });
    const over = new AbortController();
    const abandoned = this.#untilAbandoned(current, over.signal);
    abandoned.catch(() => undefined);
    try {
      const store = new AbandonableStore(this.#keys.groupStore(current.generation), abandoned);
      const connectTimeoutMs = Math.min(timeoutMs, this.#connectMs);
      return await formGroup({ store, rank, size, timeoutMs, connectTimeoutMs, masterAddress });
    } catch (error) {
      this.#connectMs = Math.min(2 * this.#connectMs, connectMs.max);
      throw error;
    } finally {
      over.abort();
    }
  }

  /** The group is in use: the next one has the time of a first attempt. */
  succeeded(): void {
    this.#connectMs = connectMs.first;
  }

  /** Rejects when a member has abandoned the generation, or has died. */
  async #untilAbandoned(current: Generation, over: AbortSignal): Promise<never> {
    await this.#agreement.untilAbandoned(current, over);
    throw new FormationAbandonedError();
  }
}
