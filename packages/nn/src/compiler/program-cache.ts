import { ArgumentError } from '../errors/errors.ts';
import type { Executor } from '../executor/executor.ts';
import { warnAboutRecompilation, type ProgramSummary } from './recompilation-warning.ts';

/** Holds sessions of executors, whose memory the garbage collector does not free. */
export interface Releasable {
  release(): Promise<void>;
}

/** The cache key of a program, such as the structure of a graph. */
export interface ProgramKey {
  /** Equal for equal keys. */
  readonly hash: number;
  equals(other: this): boolean;
}

type Compiler = Pick<Executor, 'settings'>;

/** The key of a program of an executor and of its settings. */
export class ExecutorKey<Key extends ProgramKey> implements ProgramKey {
  readonly #executor: Compiler;
  readonly #settings: string | undefined;
  readonly #key: Key;

  constructor(executor: Compiler, key: Key) {
    this.#executor = executor;
    this.#settings = executor.settings?.();
    this.#key = key;
  }

  get hash(): number {
    return this.#key.hash;
  }

  equals(other: ExecutorKey<Key>): boolean {
    const isSame = this.#executor === other.#executor && this.#settings === other.#settings;
    return isSame && this.#key.equals(other.#key);
  }
}

interface Entry<Key, T> {
  readonly key: Key;
  readonly made: Promise<T>;
  /** Set when it is compiled, so that a run need not await `made`. */
  program: T | undefined;
  readonly shape: ProgramSummary | undefined;
  users: number;
  evicted: boolean;
}

/** A least-recently-used cache of compiled programs, at most `programCache.maxSize`. */
export class ProgramCache<Key extends ProgramKey, T extends Releasable> {
  /** The most recent is last. */
  readonly #entries: Entry<Key, T>[] = [];

  constructor() {
    all.add(this);
  }

  get size(): number {
    return this.#entries.length;
  }

  has(key: Key): boolean {
    return this.#entries.some((entry) => isEntryOf(entry, key));
  }

  /** The most recent key with this property. */
  findKey(hasProperty: (key: Key) => boolean): Key | undefined {
    return this.#entries.findLast(({ key }) => hasProperty(key))?.key;
  }

  /**
   * Runs the program of a graph, compiling it if it is not cached. A program is released only after its runs have ended.
   *
   * @param shape describes the graph in messages, if its inputs may have many shapes
   */
  async use<Result>(
    key: Key,
    make: () => Promise<T>,
    run: (program: T) => Promise<Result>,
    shape?: () => ProgramSummary,
  ): Promise<Result> {
    const entry = this.#find(key) ?? this.#add(key, make, shape);
    entry.users += 1;
    try {
      return await run(entry.program ?? (await this.#made(entry)));
    } finally {
      entry.users -= 1;
      if (entry.evicted) await releaseIfUnused(entry);
    }
  }

  /**
   * Returns the program of a graph, which becomes the most recent; undefined if it is not compiled. Run it at once: a program
   * that is released later ends its runs first.
   */
  ready(key: Key): T | undefined {
    return this.#find(key)?.program;
  }

  /** Adds a compiled program that `ready` did not find. */
  addReady(key: Key, program: T, shape: ProgramSummary): void {
    this.#push({ key, made: Promise.resolve(program), program, shape, users: 0, evicted: false });
  }

  /** Releases the programs whose keys have this property, which are not needed again. */
  release(hasProperty: (key: Key) => boolean): void {
    for (const entry of this.#entries.filter(({ key }) => hasProperty(key))) {
      this.#entries.splice(this.#entries.indexOf(entry), 1);
      evict(entry);
    }
  }

  /** Releases the least recently used programs. */
  shrinkTo(size: number, added?: ProgramSummary): void {
    while (this.#entries.length > size) {
      if (added) warnAboutRecompilation(added, this.#shapes(), size);
      evict(this.#entries.shift()!);
    }
  }

  /** Makes the entry the most recent. */
  #find(key: Key): Entry<Key, T> | undefined {
    let position = this.#entries.length - 1;
    while (position >= 0 && !isEntryOf(this.#entries[position], key)) position -= 1;
    if (position < 0) return undefined;
    const entry = this.#entries[position];
    if (position < this.#entries.length - 1) this.#entries.push(...this.#entries.splice(position, 1));
    return entry;
  }

  #add(key: Key, make: () => Promise<T>, shape?: () => ProgramSummary): Entry<Key, T> {
    const entry: Entry<Key, T> = {
      key,
      made: make(),
      program: undefined,
      shape: shape?.(),
      users: 0,
      evicted: false,
    };
    this.#push(entry);
    return entry;
  }

  #push(entry: Entry<Key, T>): void {
    this.#entries.push(entry);
    this.shrinkTo(maxSize, entry.shape);
  }

  #shapes(): ProgramSummary[] {
    return this.#entries.map(({ shape }) => shape).filter((shape) => shape !== undefined);
  }

  /** Removes a failed compilation, so that the next run compiles again. */
  async #made(entry: Entry<Key, T>): Promise<T> {
    try {
      entry.program = await entry.made;
      return entry.program;
    } catch (error) {
      const position = this.#entries.indexOf(entry);
      if (position >= 0) this.#entries.splice(position, 1);
      throw error;
    }
  }
}

function isEntryOf<Key extends ProgramKey>({ key: known }: Entry<Key, unknown>, key: Key): boolean {
  return key.hash === known.hash && key.equals(known);
}

function evict(entry: Entry<unknown, Releasable>): void {
  entry.evicted = true;
  void releaseIfUnused(entry);
}

async function releaseIfUnused({ evicted, users, program, made }: Entry<unknown, Releasable>): Promise<void> {
  if (!evicted || users > 0) return;
  // Compiled programs are released at once: synchronous reads of many shapes may leave no turn for promises.
  const compiled = program ?? (await made.catch(() => undefined));
  await compiled?.release();
}

type Programs = Pick<ProgramCache<never, Releasable>, 'size' | 'shrinkTo'>;

const all = new Set<Programs>();

/** Lets `programCache` count and release programs of another cache. */
export function registerPrograms(programs: Programs): void {
  all.add(programs);
}

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
