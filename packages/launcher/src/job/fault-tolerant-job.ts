import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import {
  connectStore,
  firstJob,
  goneKey,
  parseEndpoint,
  PrefixStore,
  RecoveryKeys,
  removedKey,
} from '@ringrun/rendezvous';
import type { Job, JobWithLiving } from '@ringrun/rendezvous';
import type { Round } from '@ringrun/rendezvous/rounds';

/** Milliseconds in which the job's store must answer. */
const maxAnswerMs = 5000;

/** Milliseconds from the first worker that has wrapped its model to the beginning of the job. */
const maxBeginMs = 10_000;

/** The connection of a launcher to the store of a fault-tolerant job. Its processes are named by their tokens. */
export class FaultTolerantJob {
  readonly #store: Store;
  readonly #keys: Store;

  /** @param store Closed with the connection. */
  constructor(store: Store, restartCount: number) {
    this.#store = store;
    this.#keys = new PrefixStore(`restart/${restartCount}`, store);
  }

  /** @throws RingrunError if the store does not answer. */
  static async connect({ storeEndpoint, restartCount }: Round): Promise<FaultTolerantJob> {
    const at = parseEndpoint(storeEndpoint, 'RINGRUN_STORE');
    const store = await connectStore({ ...at, timeoutMs: maxAnswerMs, log: () => undefined });
    return new FaultTolerantJob(store, restartCount);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /**
   * The job. Its ranks begin it when all have wrapped their model; some may have died since. Undefined if they do not within 10 s.
   */
  async read(): Promise<JobWithLiving | undefined> {
    try {
      return await firstJob(this.#keys, maxBeginMs);
    } catch (error) {
      if (error instanceof StoreTimeoutError) return undefined;
      throw error;
    }
  }

  /** Informs the other ranks of a death. */
  async setGone(token: string): Promise<void> {
    await this.#keys.set(goneKey(token), '');
  }

  async isGone(token: string): Promise<boolean> {
    return await this.#keys.check([goneKey(token)]);
  }

  /** Whether the process has left the job after its last step. */
  async hasLeft(job: Job, token: string): Promise<boolean> {
    return await this.#recovery(job).hasLeft(token);
  }

  /** Whether the process is out of the job's group, and only runs its own code. */
  async hasDeparted(job: Job, token: string): Promise<boolean> {
    return await this.#recovery(job).hasDeparted(token);
  }

  /** Whether the process has ever been a rank of the job's group. */
  async wasAdmitted(job: Job, token: string): Promise<boolean> {
    return await this.#recovery(job).wasAdmitted(token);
  }

  /** Deletes the keys of a process that has ended; see `RecoveryKeys.forget`. */
  async forget(job: Job, token: string): Promise<void> {
    await this.#recovery(job).forget(token);
  }

  #recovery({ id }: Job): RecoveryKeys {
    return new RecoveryKeys(this.#keys, id);
  }

  /** Resolves with true when the other ranks continue without the process, and with false when the connection ends. */
  async untilRemoved(token: string): Promise<boolean> {
    try {
      await this.#keys.wait([removedKey(token)], { timeoutMs: Infinity });
      return true;
    } catch (error) {
      if (!(error instanceof RingrunError)) throw error;
      return false;
    }
  }
}
