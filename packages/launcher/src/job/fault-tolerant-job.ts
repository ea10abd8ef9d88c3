import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import type { Job, JobWithLiving } from '@ringrun/rendezvous';
import type { Round } from '@ringrun/rendezvous/rounds';

/** Milliseconds in which the job's store must answer. */
const maxAnswerMs = 5000;

/** Milliseconds from the first worker that has wrapped its model to the beginning of the job. */
const maxBeginMs = 10_000;

/** Loaded only if the job is fault-tolerant. */
const loadRendezvous = async () => await import('@ringrun/rendezvous');
type Rendezvous = Awaited<ReturnType<typeof loadRendezvous>>;

/** The connection of a launcher to the store of a fault-tolerant job. Its processes are named by their tokens. */
export class FaultTolerantJob {
  readonly #rendezvous: Rendezvous;
  readonly #store: Store;
  readonly #keys: Store;

  /** @param store Closed with the connection. */
  constructor(rendezvous: Rendezvous, store: Store, restartCount: number) {
    this.#rendezvous = rendezvous;
    this.#store = store;
    this.#keys = new rendezvous.PrefixStore(`restart/${restartCount}`, store);
  }

  /** @throws RingrunError if the store does not answer. */
  static async connect({ storeEndpoint, restartCount }: Round): Promise<FaultTolerantJob> {
    const rendezvous = await loadRendezvous();
    const at = rendezvous.parseEndpoint(storeEndpoint, 'RINGRUN_STORE');
    const store = await rendezvous.connectStore({ ...at, timeoutMs: maxAnswerMs, log: () => undefined });
    return new FaultTolerantJob(rendezvous, store, restartCount);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /**
   * The job. Its ranks begin it when all have wrapped their model; some may have died since. Undefined if they do not within 10 s.
   */
  async read(): Promise<JobWithLiving | undefined> {
    try {
      return await this.#rendezvous.firstJob(this.#keys, maxBeginMs);
    } catch (error) {
      if (error instanceof StoreTimeoutError) return undefined;
      throw error;
    }
  }

  /** Informs the other ranks of a death. */
  async setGone(token: string): Promise<void> {
    await this.#keys.set(this.#rendezvous.goneKey(token), '');
  }

  async isGone(token: string): Promise<boolean> {
    return await this.#keys.check([this.#rendezvous.goneKey(token)]);
  }

  /** Whether the process has left the job after its last step. */
  async hasLeft(job: Job, token: string): Promise<boolean> {
    return await new this.#rendezvous.RecoveryKeys(this.#keys, job.id).hasLeft(token);
  }

  /** Whether the process is out of the job's group, and only runs its own code. */
  async hasDeparted(job: Job, token: string): Promise<boolean> {
    return await new this.#rendezvous.RecoveryKeys(this.#keys, job.id).hasDeparted(token);
  }

  /** Whether the process has ever been a rank of the job's group. */
  async wasAdmitted(job: Job, token: string): Promise<boolean> {
    return await new this.#rendezvous.RecoveryKeys(this.#keys, job.id).wasAdmitted(token);
  }

  /** Deletes the keys of a process that has ended; see `RecoveryKeys.forget`. */
  async forget(job: Job, token: string): Promise<void> {
    await new this.#rendezvous.RecoveryKeys(this.#keys, job.id).forget(token);
  }

  /** Resolves with true when the other ranks continue without the process, and with false when the connection ends. */
  async untilRemoved(token: string): Promise<boolean> {
    try {
      await this.#keys.wait([this.#rendezvous.removedKey(token)], { timeoutMs: Infinity });
      return true;
    } catch (error) {
      if (!(error instanceof RingrunError)) throw error;
      return false;
    }
  }
}
