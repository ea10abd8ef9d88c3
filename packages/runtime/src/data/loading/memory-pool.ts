import { ReusedMemory } from '../batch-memory.ts';

/** Memory of batches that the loop no longer uses, for later ones. */
export class MemoryPool {
  readonly #isUsed: boolean;
  readonly #free: ReusedMemory[] = [];

  /** @param isUsed false: batches have their own memory */
  constructor(isUsed: boolean) {
    this.#isUsed = isUsed;
  }

  /** Memory for one batch; undefined if batches have their own. */
  take(): ReusedMemory | undefined {
    return this.#isUsed ? (this.#free.pop() ?? new ReusedMemory()) : undefined;
  }

  /** The arrays of the batch are empty afterwards. */
  giveBack(memory: ReusedMemory | undefined): void {
    if (!memory) return;
    memory.reclaim();
    this.#free.push(memory);
  }
}
