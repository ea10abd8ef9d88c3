import { setImmediate } from 'node:timers/promises';
import { InvalidArgumentError } from '@ringrun/collectives';
import { requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { ReusedMemory } from './batch-memory.ts';
import { defaultCollate } from './collate.ts';
import type { Collated } from './collate.ts';
import type { BatchMemory, DataPass, Dataset } from './dataset.ts';
import { FieldTypes } from './field-types.ts';
import { requireInteger, requireSeed } from './require-integer.ts';
import { RandomSampler, SequentialSampler } from './sampler.ts';
import type { Sampler } from './sampler.ts';
import { isStateful } from './sampler-state.ts';
import type { EpochPass, SamplerState, StatefulSampler } from './sampler-state.ts';
import type { MadeBatch } from './workers/messages.ts';
import { LoaderThreads } from './workers/loader-threads.ts';

/** Options of a {@link DataLoader}. */
export interface DataLoaderOptions<Sample, Batch> {
  /** Samples in a batch. Default: 1. */
  batchSize?: number;
  /** Visit the samples in a random order, a new one in each epoch. Default: false. */
  shuffle?: boolean;
  /** Which samples to visit, in which order, instead of `shuffle`; a DistributedSampler when several ranks share the dataset. */
  sampler?: Sampler;
  /** Drop the last batch if it is smaller than the others. Default: false. */
  dropLast?: boolean;
  /** Seed of `shuffle` and of augmentation, an integer from -(2^53 - 1) to 2^53 - 1. Default: the seed of the sampler, or 0. */
  seed?: number;
  /** Worker threads that load batches ahead. Default: 0, which loads in the thread of the loop. */
  numWorkers?: number;
  /** Keep the worker threads between iterations. They do not keep a process alive. Default: false. */
  persistentWorkers?: boolean;
  /** Batches that each worker loads ahead; only with `numWorkers`. Default: 2. */
  prefetchFactor?: number;
  /**
   * Make each batch in the memory of an earlier one. Default: false, so each batch may be kept. torch has no such option. Batches of images
   * then leave nothing to the garbage collector, and a loop that does not keep them loses nothing.
   *
   * The arrays of a batch hold it until the next batch is asked for, which a `for` loop does at the end of its body: then they are emptied (their length is 0), so that what
   * still uses them fails instead of seeing another batch. All batches in `[...loader]` are empty. A loop that is left, by `break` or an error, keeps its last batch.
   *
   * It holds for what `defaultCollate` makes, for arrays that the dataset's `atAll` makes in the `memory` that it is given, and for those that a `collateFn` makes in its own; other
   * arrays, and whatever is no typed array, may be kept.
   */
  reuseMemory?: boolean;
  /**
   * Makes one batch of `batchSize` samples, or fewer in the last batch. Default: `defaultCollate`. Worker threads run `defaultCollate` themselves; a
   * function of yours runs in the loop's thread, on copies of the workers' samples. `memory` is given with `reuseMemory`.
   */
  collateFn?: (samples: Sample[], memory?: BatchMemory) => Batch;
}

const optionNames: OptionNames<DataLoaderOptions<unknown, unknown>> = {
  batchSize: true,
  shuffle: true,
  sampler: true,
  numWorkers: true,
  collateFn: true,
  dropLast: true,
  seed: true,
  persistentWorkers: true,
  prefetchFactor: true,
  reuseMemory: true,
};

/**
 * The batches of a dataset (torch.utils.data.DataLoader): each iteration is one epoch. A batch has memory of its own and may be kept, unless `reuseMemory` is given.
 *
 * `for await (const batch of loader)` lets timers, signals and connections be served between batches. `for (const batch of loader)` runs without a pause, and only
 * without worker threads.
 *
 * With `numWorkers` batches come from worker threads, in the same order and with the same contents. The dataset must be one that threads can have: those of ringrun, or one
 * of `datasetFromModule`. The threads end with the loop, however it ends (with `persistentWorkers` only when it breaks off). What fails in one is a `DataLoaderWorkerError` in the loop, with the thread's stack.
 *
 * What `defaultCollate` makes of a field has the element type that it has in the loader's first batch. A batch where it is another one, such as a first one with a
 * fraction among targets that were integers, is an `InvalidArgumentError` that names the field.
 */
export class DataLoader<Sample, Batch = Collated<Sample>> implements Iterable<Batch>, AsyncIterable<Batch> {
  /** Number of batches in a whole epoch. */
  readonly length: number;
  /** The dataset that was passed to the constructor. */
  readonly dataset: Dataset<Sample>;
  /** The option `sampler`, or a sampler of the loader's own, as the option `shuffle` says. */
  readonly sampler: Sampler;
  /** Samples in a batch; the last one may have fewer. */
  readonly batchSize: number;
  /** Number of worker threads; 0 if batches are loaded in the thread of the loop. */
  readonly numWorkers: number;
  readonly #dropLast: boolean;
  readonly #seed: number | undefined;
  readonly #prefetchFactor: number;
  /** Undefined where `defaultCollate` makes the batches. */
  readonly #collateFn: ((samples: Sample[], memory?: BatchMemory) => Batch) | undefined;
  readonly #persistentWorkers: boolean;
  /** Idle ones, kept for the next iteration. */
  #threads: LoaderThreads | undefined;
  readonly #reuseMemory: boolean;
  /** Of the last iteration, for the next one. */
  #memory: ReusedMemory | undefined;
  readonly #fieldTypes = new FieldTypes();
  /** Iterations so far, which are the epochs of samplers that do not count them. */
  #iterations = 0;

  /**
   * Throws `InvalidArgumentError` for a batch size below 1, a seed that is not an integer, both a sampler and `shuffle`, or `numWorkers` with a dataset that threads cannot have.
   */
  constructor(dataset: Dataset<Sample>, options: DataLoaderOptions<Sample, Batch> = {}) {
    const who = 'DataLoader';
    requireOptions(who, options, optionNames);
    requireNoContradiction(options);
    this.dataset = dataset;
    this.batchSize = requireInteger(options.batchSize ?? 1, { who, what: 'batchSize', min: 1 });
    this.sampler = options.sampler ?? defaultSampler(dataset, options);
    this.#dropLast = options.dropLast ?? false;
    this.#collateFn = options.collateFn;
    this.#seed = options.seed === undefined ? undefined : requireSeed(options.seed, who);
    this.numWorkers = requireInteger(options.numWorkers ?? 0, { who, what: 'numWorkers', min: 0 });
    this.#prefetchFactor = requireInteger(options.prefetchFactor ?? 2, {
      who,
      what: 'prefetchFactor',
      min: 1,
    });
    this.#persistentWorkers = options.persistentWorkers ?? false;
    this.#reuseMemory = options.reuseMemory ?? false;
    if (this.numWorkers > 0) requireForWorkers(dataset, this.numWorkers);
    const batches = this.sampler.length / this.batchSize;
    this.length = this.#dropLast ? Math.floor(batches) : Math.ceil(batches);
  }

  /**
   * One epoch of batches. `InvalidArgumentError` for a sampler that gives an index outside of the dataset, and with worker threads, whose batches take `for await`.
   */
  *[Symbol.iterator](): Generator<Batch, void> {
    requireNoWorkers(this.numWorkers);
    const epoch = this.#begin();
    const memory = this.#takeMemory();
    for (const indices of epoch.batches) {
      const batch = this.#collate(this.#samplesAt(indices, epoch.pass, memory), memory);
      epoch.deliver();
      yield batch;
      memory?.reclaim();
    }
    epoch.finish();
    this.#memory = memory;
  }

  /** One epoch of batches; the event loop has its turn after each. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void> {
    if (this.numWorkers > 0) {
      yield* this.#fromWorkers();
      return;
    }
    for (const batch of this) {
      yield batch;
      await setImmediate();
    }
  }

  /** As many batches as the workers may make ahead are always asked for; they are delivered in the order in which they were. */
  async *#fromWorkers(): AsyncGenerator<Batch, void> {
    const collates = this.#collateFn === undefined;
    const threads =
      this.#threads ??
      new LoaderThreads(
        this.numWorkers,
        { ...this.dataset.forWorkers!(), collates },
        { reuseMemory: this.#reuseMemory },
      );
    const memory = this.#takeMemory();
    this.#threads = undefined;
    let areIdle = false;
    try {
      const { batches, pass, deliver, finish } = this.#begin();
      const asked: Promise<MadeBatch>[] = [];
      const ask = () => {
        const { value: indices } = batches.next();
        if (indices) asked.push(threads.load({ indices, pass }));
      };
      for (let ahead = 0; ahead < this.numWorkers * this.#prefetchFactor; ahead += 1) ask();
      for (let next = asked.shift(); next; next = asked.shift()) {
        const made = await threads.waitFor(next);
        ask();
        const batch = collates
          ? this.#checkedBatch(made.batch as Batch)
          : this.#collate(made.batch as Sample[], memory);
        deliver();
        yield batch;
        threads.reclaim(made);
        memory?.reclaim();
      }
      finish();
      this.#memory = memory;
      areIdle = true;
    } finally {
      // What a loop has left behind in them is not worth waiting for.
      if (areIdle && this.#persistentWorkers) this.#threads = threads;
      else await threads.end();
    }
  }

  /**
   * How far the job is: the batches that were handed to the loop count, those that were loaded ahead do not. It is the sampler's state
   * (`SamplerState`), plain data and the same on every rank. `InvalidArgumentError` where the sampler keeps no state.
   */
  stateDict(): SamplerState {
    return this.#statefulSampler('stateDict').stateDict();
  }

  /**
   * The next iteration is what was left of the state's epoch, also with another batch size or on another number of ranks: each sample of it once.
   * `InvalidArgumentError`, and nothing changed, where the sampler keeps no state or the state belongs to another dataset.
   */
  loadStateDict(state: SamplerState): void {
    this.#statefulSampler('loadStateDict').loadStateDict(state);
  }

  #statefulSampler(method: string): StatefulSampler {
    if (isStateful(this.sampler)) return this.sampler;
    throw new InvalidArgumentError(
      `DataLoader.${method}: its sampler keeps no state. Give it a DistributedSampler, a RandomSampler or a SequentialSampler, ` +
        'or implement StatefulSampler.',
    );
  }

  /** The batches of the iteration that begins now, and how the sampler is told what becomes of them. */
  #begin(): Epoch {
    const iterator = this.sampler[Symbol.iterator]();
    const counted = isPass(iterator) ? iterator : undefined;
    const { seed, epoch } = counted ?? { seed: 0, epoch: this.#iterations };
    this.#iterations += 1;
    counted?.setUsed(0);
    let delivered = 0;
    return {
      batches: this.#indicesOf(iterator),
      pass: { seed: this.#seed ?? seed, epoch },
      deliver: () => {
        delivered += 1;
        // Whole batches, also for the last one: all ranks are at the same batch, and one whose last is smaller has no more to use.
        counted?.setUsed(delivered * this.batchSize);
      },
      finish: () => counted?.finish(),
    };
  }

  *#indicesOf(iterator: Iterator<number>): Generator<number[], undefined> {
    let indices: number[] = [];
    for (let next = iterator.next(); !next.done; next = iterator.next()) {
      indices.push(this.#checked(next.value));
      if (indices.length < this.batchSize) continue;
      yield indices;
      indices = [];
    }
    if (indices.length > 0 && !this.#dropLast) yield indices;
  }

  /** The memory in which an iteration makes its batches; used by that iteration only. */
  #takeMemory(): ReusedMemory | undefined {
    if (!this.#reuseMemory) return undefined;
    const memory = this.#memory ?? new ReusedMemory();
    this.#memory = undefined;
    return memory;
  }

  #samplesAt(indices: readonly number[], pass: DataPass, memory: BatchMemory | undefined): Sample[] {
    const { dataset } = this;
    return dataset.atAll?.(indices, pass, memory) ?? indices.map((index) => dataset.at(index, pass));
  }

  /** Without a collate function Batch is what the default one makes. */
  #collate(samples: Sample[], memory: BatchMemory | undefined): Batch {
    if (this.#collateFn) return this.#collateFn(samples, memory);
    return this.#checkedBatch(
      defaultCollate(samples, { adopt: this.dataset.atAll !== undefined, memory }) as Batch,
    );
  }

  #checkedBatch(batch: Batch): Batch {
    this.#fieldTypes.check(batch);
    return batch;
  }

  #checked(index: number): number {
    if (Number.isInteger(index) && index >= 0 && index < this.dataset.length) return index;
    throw new InvalidArgumentError(
      `DataLoader: the sampler gave index ${index}, but the dataset has ${this.dataset.length} samples, 0 to ` +
        `${this.dataset.length - 1}. Make the sampler for this dataset.`,
    );
  }
}

/** One iteration of a loader. */
interface Epoch {
  batches: Generator<number[], undefined>;
  pass: DataPass;
  /** One more batch is handed to the loop. */
  deliver: () => void;
  /** The loop has had them all. */
  finish: () => void;
}

function requireForWorkers(dataset: Dataset<unknown>, numWorkers: number): void {
  if (dataset.forWorkers !== undefined) return;
  throw new InvalidArgumentError(
    `DataLoader: got numWorkers: ${numWorkers}, but the dataset's functions stay in this thread. Put the dataset in a module of its own that exports createDataset, ` +
      "and make it with `await datasetFromModule(new URL('./dataset.js', import.meta.url), …)`; or leave out numWorkers.",
  );
}

function requireNoWorkers(numWorkers: number): void {
  if (numWorkers === 0) return;
  throw new InvalidArgumentError(
    'DataLoader: batches of worker threads arrive while the loop waits. Write `for await (const batch of loader)`, or leave out numWorkers.',
  );
}

function isPass(iterator: Iterator<number>): iterator is EpochPass {
  return 'setUsed' in iterator;
}

function requireNoContradiction(options: DataLoaderOptions<never, unknown>): void {
  const { sampler, shuffle, numWorkers = 0, prefetchFactor } = options;
  if (prefetchFactor !== undefined && numWorkers === 0) {
    throw new InvalidArgumentError(
      'DataLoader: got prefetchFactor without numWorkers, and only worker threads load ahead. Give numWorkers too, or leave it out.',
    );
  }
  if (!sampler || !shuffle) return;
  throw new InvalidArgumentError(
    'DataLoader: got both a sampler and shuffle: true, but the sampler decides the order. Leave out shuffle, and let the sampler shuffle.',
  );
}

function defaultSampler(
  dataset: Dataset<unknown>,
  { shuffle, seed }: DataLoaderOptions<never, unknown>,
): Sampler {
  return shuffle ? new RandomSampler(dataset, { seed: seed ?? 0 }) : new SequentialSampler(dataset);
}
