import { StorageError } from '../storage/index.ts';
import type { Storage } from '../storage/index.ts';
import { inUse } from './folder-lock.ts';
import { decodeIdentity, encodeIdentity } from './writer-identity.ts';
import type { WriterIdentity } from './writer-identity.ts';

const claimName = 'writer.json';

/**
 * The right to write checkpoints to a bucket, which has no locks. `writer.json` names the latest writer, and a process
 * that finds a different name there stops writing. So a killed process leaves nothing to clean up, and a process that
 * was cut off from its job cannot continue to write.
 */
export class BucketClaim {
  readonly #storage: Storage;
  readonly #own: WriterIdentity;
  #isMade = false;

  constructor(storage: Storage, own: WriterIdentity) {
    this.#storage = storage;
    this.#own = own;
  }

  /**
   * The first call writes this process's name to `writer.json`; later calls check that it is unchanged.
   *
   * @throws CheckpointError `ERR_CHECKPOINT_IN_USE` that names the newer writer; StorageError
   */
  async requireOwn(): Promise<void> {
    const holder = this.#isMade ? await this.#holder() : undefined;
    if (holder !== undefined && holder.id !== this.#own.id) throw inUse(this.#storage.location, holder);
    if (!this.#isMade) await this.#storage.write(claimName, encodeIdentity(this.#own));
    this.#isMade = true;
  }

  async #holder(): Promise<WriterIdentity | undefined> {
    try {
      return decodeIdentity(await this.#storage.read(claimName));
    } catch (error) {
      if (error instanceof StorageError && error.problem === 'not found') return undefined;
      throw error;
    }
  }
}
