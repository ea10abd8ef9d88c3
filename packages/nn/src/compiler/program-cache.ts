import { ArgumentError } from '../errors.ts';
import { warnAboutRecompilation, type ProgramSummary } from './recompilation-warning.ts';

/** Holds onnxruntime sessions, whose memory the garbage collector does not free. */
export interface Releasable {
  release(): Promise<void>;
}

interface Entry<T> {
  readonly made: Promise<T>;
  readonly shape: ProgramSummary | undefined;
  users: number;
  evicted: boolean;
}

/** A least-recently-used cache of compiled programs by graph structure, at most `programCache.maxSize`. The most recent is last. */
export class ProgramCache<T extends Releasable> {
  readonly #entries = new Map<string, Entry<T>>();

  constructor() {
    all.add(this);
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Runs the program of a graph, compiling it if it is not cached. A program is released only after its runs have ended.
   *
   * @param shape describes the graph in messages, if its inputs may have many shapes
   */
  async use<Result>(
    key: string,
    make: () => Promise<T>,
    run: (program: T) => Promise<Result>,
    shape?: () => ProgramSummary,
  ): Promise<Result> {
    const isNew = !this.#entries.has(key);
    const entry = this.#entries.get(key) ?? { made: make(), shape: shape?.(), users: 0, evicted: false };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users += 1;
    try {
      if (isNew) this.shrinkTo(maxSize, entry.shape);
      return await run(await this.#made(key, entry));
    } finally {
      entry.users -= 1;
      await releaseIfUnused(entry);
    }
  }

  /** Releases the least recently used programs. */
  shrinkTo(size: number, added?: ProgramSummary): void {
    for (const [key, entry] of [...this.#entries].slice(0, Math.max(0, this.#entries.size - size))) {
      if (added) warnAboutRecompilation(added, this.#shapes(), size);
      this.#entries.delete(key);
      entry.evicted = true;
      void releaseIfUnused(entry);
    }
  }

  #shapes(): ProgramSummary[] {
    return [...this.#entries.values()].map(({ shape }) => shape).filter((shape) => shape !== undefined);
  }

  /** Removes a failed compilation, so that the next run compiles again. */
  async #made(key: string, entry: Entry<T>): Promise<T> {
    try {
      return await entry.made;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }
}

async function releaseIfUnused({ evicted, users, made }: Entry<Releasable>): Promise<void> {
  if (!evicted || users > 0) return;
  const program = await made.catch(() => undefined);
  await program?.release();
}

const all = new Set<ProgramCache<Releasable>>();

let maxSize = 16;

/**
 * The compiled programs of this process, a least-recently-used cache. A graph is compiled once per structure and set of
 * shapes. Released programs are compiled again when they are needed.
 */
export const programCache = {
  /**
   * Programs kept of each kind (forward, forward and backward, optimizer step), at least 1. Each program holds the memory
   * of its activations: for inputs of many shapes, a larger cache trades memory for fewer compilations. A smaller number
   * takes effect immediately. Default: 16.
   */
  get maxSize(): number {
    return maxSize;
  },
  /** @throws ArgumentError if it is not an integer of at least 1 */
  set maxSize(size: number) {
    if (!Number.isInteger(size) || size < 1) {
      throw new ArgumentError(
        `programCache.maxSize: expected an integer of at least 1, got ${String(size)}.`,
      );
    }
    maxSize = size;
    for (const programs of all) programs.shrinkTo(size);
  },
  /** Number of cached programs of all kinds. */
  get size(): number {
    return [...all].reduce((sum, programs) => sum + programs.size, 0);
  },
  /** Releases all programs and their memory. Running programs are released when they finish. */
  clear(): void {
    for (const programs of all) programs.shrinkTo(0);
  },
};
