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
  /** Selects and orders the samples, instead of `shuffle`. Use a DistributedSampler if ranks share the dataset. */
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
   * Create each batch in the memory of an earlier one, which leaves no garbage. Default: false: batches may be
   * kept. torch has no such option.
   *
   * The arrays of a batch are valid until the next batch is requested, at the end of the loop's body. Then their
   * length is 0, so later uses fail instead of reading another batch. All batches in `[...loader]` are empty. A
   * loop that ends early (`break` or an error) keeps its last batch.
   *
   * Reused are the arrays of `defaultCollate`, and those that the dataset's `batch` or `collateFn` allocates in
   * its `memory`. Other values may be kept.
   */
  reuseMemory?: boolean;
  /**
   * Creates one batch of `batchSize` samples, or fewer in the last batch. Default: `defaultCollate`, which runs in
   * the worker threads. Other functions run in the loop's thread, on copies of the workers' samples. `memory` is
   * undefined without `reuseMemory`.
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
 * The batches of a dataset (torch.utils.data.DataLoader). Each iteration is one epoch. Without `reuseMemory`, a
 * batch has its own memory and may be kept.
 *
 * `for await (const batch of loader)` yields to the event loop between batches. `for (const batch of loader)` does
 * not, and requires `numWorkers: 0`.
 *
 * With `numWorkers`, threads create the same batches in the same order. The dataset must have `forWorkers`, as
 * ringrun's datasets and those of `datasetFromModule` do. The threads end with the loop (with `persistentWorkers`
 * only if it ends early). The loop throws a `DataLoaderWorkerError` with the thread's stack if one fails.
 *
 * A field that `defaultCollate` creates has the element type of the loader's first batch. The loop throws an
 * `InvalidArgumentError` that names the field if a later batch differs, such as a fraction after integers.
 */
export class DataLoader<Sample, Batch = Collated<Sample>> implements Iterable<Batch>, AsyncIterable<Batch> {
  /** Number of batches in a whole epoch. */
  readonly length: number;
  /** The dataset that was passed to the constructor. */
  readonly dataset: Dataset<Sample>;
  /** The option `sampler`; by default a RandomSampler with `shuffle`, or a SequentialSampler. */
  readonly sampler: Sampler;
  /** Samples in a batch; the last one may have fewer. */
  readonly batchSize: number;
  /** Number of worker threads; 0 if batches are loaded in the thread of the loop. */
  readonly numWorkers: number;
  readonly #dropLast: boolean;
  readonly #seed: number | undefined;
  readonly #prefetchFactor: number;
  /** Undefined for `defaultCollate`. */
  readonly #collateFn: ((samples: Sample[], memory?: BatchMemory) => Batch) | undefined;
  readonly #persistentWorkers: boolean;
  /** Idle threads, kept for the next iteration. */
  #threads: LoaderThreads | undefined;
  readonly #reuseMemory: boolean;
  /** Memory of the last iteration, for the next one. */
  #memory: ReusedMemory | undefined;
  readonly #fieldTypes = new FieldTypes();
  /** Number of iterations so far: the epoch, if the sampler does not count epochs. */
  #iterations = 0;

  /**
   * Throws `InvalidArgumentError` for a batch size below 1, a seed that is not an integer, both a sampler and
   * `shuffle`, or `numWorkers` with a dataset without `forWorkers`.
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
   * One epoch of batches. Throws `InvalidArgumentError` if the sampler yields an index outside the dataset, or if
   * `numWorkers` is above 0, which requires `for await`.
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

  /** One epoch of batches. Yields to the event loop after each. */
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

  /** Keeps `numWorkers` * `prefetchFactor` requests pending, and delivers the batches in the order of the requests. */
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
      const requested: Promise<MadeBatch>[] = [];
      const request = () => {
        const { value: indices } = batches.next();
        if (indices) requested.push(threads.load({ indices, pass }));
      };
      for (let ahead = 0; ahead < this.numWorkers * this.#prefetchFactor; ahead += 1) request();
      for (let next = requested.shift(); next; next = requested.shift()) {
        const made = await threads.waitFor(next);
        request();
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
      // After an early end, threads still create batches, so they are ended.
      if (areIdle && this.#persistentWorkers) this.#threads = threads;
      else await threads.end();
    }
  }

  /**
   * Returns the sampler's state: the progress of the job as plain data, the same on every rank. It counts the
   * batches delivered to the loop, not the prefetched ones. Throws `InvalidArgumentError` if the sampler has no state.
   */
  stateDict(): SamplerState {
    return this.#statefulSampler('stateDict').stateDict();
  }

  /**
   * The next iteration visits each unused sample of the state's epoch once, with any batch size and number of ranks.
   * Throws `InvalidArgumentError`, and changes nothing, if the sampler has no state or the state is of another dataset.
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

  /** Starts an iteration. */
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
        // The last batch counts as a whole one: all ranks are at the same batch, and a smaller one is the rank's last.
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

  /** The memory for one iteration's batches, not shared with a concurrent iteration. */
  #takeMemory(): ReusedMemory | undefined {
    if (!this.#reuseMemory) return undefined;
    const memory = this.#memory ?? new ReusedMemory();
    this.#memory = undefined;
    return memory;
  }

  #samplesAt(indices: readonly number[], pass: DataPass, memory: BatchMemory | undefined): Sample[] {
    const { dataset } = this;
    return dataset.batch?.(indices, pass, memory) ?? indices.map((index) => dataset.at(index, pass));
  }

  /** Without `collateFn`, Batch is the result of `defaultCollate`. */
  #collate(samples: Sample[], memory: BatchMemory | undefined): Batch {
    if (this.#collateFn) return this.#collateFn(samples, memory);
    return this.#checkedBatch(
      defaultCollate(samples, { adopt: this.dataset.batch !== undefined, memory }) as Batch,
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
  /** Records that a batch was delivered to the loop. */
  deliver: () => void;
  /** Records that all batches were delivered. */
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
