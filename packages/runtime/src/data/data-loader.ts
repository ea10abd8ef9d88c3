import { InvalidArgumentError, requireInteger, requireOptions, requireSeed } from '@ringrun/core';
import { defaultCollate } from './collate.ts';
import type { Collated } from './collate.ts';
import {
  optionNames,
  requireForWorkers,
  requireNoContradiction,
  requireNoWorkers,
  requireOptionsOfKind,
  needsAwait,
} from './data-loader-options.ts';
import type { DataLoaderOptions, MixingLoaderOptions } from './data-loader-options.ts';
import { isIterable, type AnyDataset } from './dataset-kind.ts';
import type { BatchMemory, Dataset, IterableDataset } from './dataset.ts';
import { FieldTypes } from './field-types.ts';
import type { DistributedSampler } from './distributed-sampler.ts';
import type { BatchMaker } from './loading/batch-maker.ts';
import { batchesOf } from './loading/batches-of.ts';
import { IndexEpochs } from './loading/index-epochs.ts';
import { transformed } from './loading/batch-identity.ts';
import type { BatchIdentity } from './loading/batch-identity.ts';
import { LocalMaker } from './loading/local-maker.ts';
import type { Collate } from './loading/local-maker.ts';
import { MemoryPool } from './loading/memory-pool.ts';
import { IndexPlan } from './loading/plan.ts';
import { samplesAt } from './loading/samples-at.ts';
import type { StreamState } from './loading/stream-progress.ts';
import { Streams } from './loading/streams.ts';
import type { MadeBatch } from './workers/messages.ts';
import { WorkerMaker } from './loading/worker-maker.ts';
import { RandomSampler, SequentialSampler } from './sampler.ts';
import { isStateful } from './sampler-state.ts';
import type { Sampler, SamplerState, StatefulSampler } from './sampler-state.ts';
import type { BatchTransform } from './transforms/mix.ts';
import { LoaderThreads } from './workers/loader-threads.ts';

/**
 * The batches of a dataset (torch.utils.data.DataLoader). Each iteration is one epoch. Without `reuseMemory`, a
 * batch has its own memory and may be kept.
 *
 * `for await (const batch of loader)` yields to the event loop between batches. `for (const batch of loader)` does
 * not, and requires `numWorkers: 0`.
 *
 * An {@link IterableDataset} is divided among the workers of all ranks: `batchSize` samples of each worker in turn. By
 * default all ranks receive the same number of batches (`evenDivisible`).
 *
 * With `numWorkers`, threads create the same batches in the same order. The dataset must have `forWorkers`, as
 * ringrun's datasets and those of `datasetFromModule` do. Without workers, a dataset that returns promises is read ahead. The threads end with the loop (with `persistentWorkers`
 * only if it ends early). The loop throws a `DataLoaderWorkerError` with the thread's stack if one fails.
 *
 * A field that `defaultCollate` creates has the element type of the loader's first batch. The loop throws an
 * `InvalidArgumentError` that names the field if a later batch differs, such as a fraction after integers.
 */
export class DataLoader<Sample, Batch = Collated<Sample>> implements Iterable<Batch>, AsyncIterable<Batch> {
  /** The dataset that was passed to the constructor. */
  readonly dataset: AnyDataset<Sample>;
  /** Samples in a batch; the last one may have fewer. */
  readonly batchSize: number;
  /** Number of worker threads; 0 if batches are loaded in the thread of the loop. */
  readonly numWorkers: number;
  /** Undefined for an iterable dataset. */
  readonly #epochs: IndexEpochs | undefined;
  /** Undefined for a dataset with indices. */
  readonly #streams: Streams | undefined;
  readonly #dropLast: boolean;
  readonly #seed: number | undefined;
  readonly #prefetchFactor: number;
  /** Undefined for `defaultCollate`. */
  readonly #collateFn: ((samples: Sample[], memory?: BatchMemory) => Batch) | undefined;
  readonly #batchTransform: BatchTransform | undefined;
  readonly #persistentWorkers: boolean;
  readonly #reuseMemory: boolean;
  readonly #pool: MemoryPool;
  /** Idle threads, kept for the next iteration. */
  #threads: LoaderThreads | undefined;
  readonly #fieldTypes = new FieldTypes();

  /**
   * Throws `InvalidArgumentError` for a batch size below 1, a seed that is not an integer, both a sampler and
   * `shuffle`, options of the other kind of dataset, or `numWorkers` with a dataset without `forWorkers`.
   */
  constructor(dataset: Dataset<Sample> | IterableDataset<Sample>, options?: DataLoaderOptions<Sample, Batch>);
  /** A dataset whose `batch` creates samples from the items that `iterate` yields. */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- from a union, TypeScript would infer the items as samples
  constructor(dataset: IterableDataset<Sample, unknown>, options?: DataLoaderOptions<Sample, Batch>);
  /** A dataset that is chosen at run time, such as shards or images in memory. */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- as above
  constructor(dataset: AnyDataset<Sample>, options?: DataLoaderOptions<Sample, Batch>);
  /** A loader whose batches are mixed after `collateFn`. */
  constructor(dataset: AnyDataset<Sample>, options: MixingLoaderOptions<Sample, Batch>);
  constructor(
    dataset: AnyDataset<Sample>,
    given: DataLoaderOptions<Sample, Batch> | MixingLoaderOptions<Sample, Batch> = {},
  ) {
    const options = given as DataLoaderOptions<Sample, Batch>;
    const who = 'DataLoader';
    requireOptions(who, options, optionNames);
    requireNoContradiction(options);
    requireOptionsOfKind(options, isIterable(dataset));
    this.dataset = dataset;
    this.batchSize = requireInteger(options.batchSize ?? 1, { who, what: 'batchSize', min: 1 });
    this.#dropLast = options.dropLast ?? false;
    this.#collateFn = options.collateFn;
    this.#batchTransform = options.batchTransform;
    this.#seed = options.seed === undefined ? undefined : requireSeed(options.seed, who);
    this.numWorkers = requireInteger(options.numWorkers ?? 0, { who, what: 'numWorkers', min: 0 });
    this.#prefetchFactor = requireInteger(options.prefetchFactor ?? 2, {
      who,
      what: 'prefetchFactor',
      min: 1,
    });
    this.#persistentWorkers = options.persistentWorkers ?? false;
    this.#reuseMemory = options.reuseMemory ?? false;
    this.#pool = new MemoryPool(this.#reuseMemory);
    if (this.numWorkers > 0) requireForWorkers(dataset, this.numWorkers);
    if (isIterable(dataset)) this.#streams = this.#newStreams(options);
    else {
      const sampler = options.sampler ?? defaultSampler(dataset, options);
      const { batchSize } = this;
      const [dropLast, seed] = [this.#dropLast, this.#seed];
      this.#epochs = new IndexEpochs(sampler, { datasetLength: dataset.length, batchSize, dropLast, seed });
    }
  }

  /**
   * Number of batches in a whole epoch. For an iterable dataset, an estimate from its `length`, and an error without
   * one, as in torch.
   */
  get length(): number {
    const batches = this.#samplesPerEpoch() / this.batchSize;
    return this.#dropLast ? Math.floor(batches) : Math.ceil(batches);
  }

  /**
   * The option `sampler`; by default a RandomSampler with `shuffle`, or a SequentialSampler. Throws
   * `InvalidArgumentError` for an iterable dataset, which has no sampler.
   */
  get sampler(): Sampler {
    if (this.#epochs) return this.#epochs.sampler;
    throw new InvalidArgumentError(
      'DataLoader.sampler: expected a dataset with indices, got an iterable dataset, which decides the order itself. Use loader.setEpoch to set its epoch.',
    );
  }

  /**
   * One epoch of batches. Throws `InvalidArgumentError` if the sampler yields an index outside the dataset, or if the
   * loop must wait, which requires `for await`: with `numWorkers`, a dataset that returns promises, or an iterable
   * dataset.
   */
  *[Symbol.iterator](): Generator<Batch, void> {
    requireNoWorkers(this.numWorkers);
    const { dataset } = this;
    if (isIterable(dataset)) throw needsAwait();
    const epoch = this.#epochs!.begin();
    for (const indices of epoch.batches) {
      const memory = this.#pool.take();
      const samples = samplesAt(dataset, indices, epoch.pass, memory);
      if (samples instanceof Promise) throw needsAwait(samples);
      const batch = this.#collate(samples, memory, { pass: epoch.pass, numbers: indices });
      epoch.deliver();
      yield batch;
      this.#pool.giveBack(memory);
    }
    epoch.finish();
  }

  /** One epoch of batches. Yields to the event loop after each. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void> {
    if (this.numWorkers > 0) {
      yield* this.#fromWorkers();
      return;
    }
    const collate: Collate<Sample, Batch> = (samples, memory, identity) =>
      this.#collate(samples, memory, identity);
    const maker = new LocalMaker(this.dataset, collate, {
      pool: this.#pool,
      prefetchFactor: this.#prefetchFactor,
    });
    try {
      yield* this.#epochOf(maker, 1);
    } finally {
      await maker.end();
    }
  }

  async *#fromWorkers(): AsyncGenerator<Batch, void> {
    const collates = this.#collateFn === undefined;
    const threads =
      this.#threads ??
      new LoaderThreads(
        this.numWorkers,
        { ...this.dataset.forWorkers!(), collates, batchTransform: this.#batchTransform },
        { reuseMemory: this.#reuseMemory },
      );
    this.#threads = undefined;
    const finish = ({ batch, identity }: MadeBatch, memory: BatchMemory | undefined) =>
      collates
        ? this.#checkedBatch(batch as Batch)
        : this.#mixed(this.#collateFn(batch as Sample[], memory), memory, identity);
    const ahead = this.numWorkers * this.#prefetchFactor;
    let areIdle = false;
    try {
      yield* this.#epochOf(new WorkerMaker(threads, finish, { pool: this.#pool, ahead }), this.numWorkers);
      areIdle = true;
    } finally {
      // After an early end, threads still create batches, so they are ended.
      if (areIdle && this.#persistentWorkers) this.#threads = threads;
      else await threads.end();
    }
  }

  async *#epochOf(maker: BatchMaker<Batch>, readers: number): AsyncGenerator<Batch, void> {
    if (this.#streams) {
      yield* this.#streams.batches(maker);
      return;
    }
    const { batches, pass, deliver, finish } = this.#epochs!.begin();
    for await (const batch of batchesOf(maker, new IndexPlan(batches, pass, readers))) {
      deliver();
      yield batch;
    }
    finish();
  }

  /**
   * Sets the epoch of the next iteration, as the sampler's `setEpoch` does; for an iterable dataset, which receives it.
   * Default: iterations are counted. Throws `InvalidArgumentError` if the sampler has no epochs.
   */
  setEpoch(epoch: number): void {
    if (this.#streams) {
      this.#streams.progress.setEpoch(epoch);
      return;
    }
    const { sampler } = this;
    if ('setEpoch' in sampler) (sampler as unknown as DistributedSampler).setEpoch(epoch);
    else
      throw new InvalidArgumentError(
        'DataLoader.setEpoch: its sampler has no method setEpoch. Use another sampler.',
      );
  }

  /**
   * Returns the progress of the job as plain data, the same on every rank: the sampler's state, or the loader's own for
   * an iterable dataset. It counts the batches delivered to the loop, not the prefetched ones. Throws
   * `InvalidArgumentError` if the sampler has no state.
   */
  stateDict(): SamplerState | StreamState {
    return this.#streams?.progress.stateDict() ?? this.#statefulSampler('stateDict').stateDict();
  }

  /**
   * The next iteration visits each unused sample of the state's epoch once. With a sampler, on any number of ranks and
   * with any batch size. An iterable dataset is read again up to the position, and must be divided as before: by the
   * same batch size and number of ranks and workers, except at the end of an epoch. Throws `InvalidArgumentError`, and
   * changes nothing, if the sampler has no state or the state is of another dataset or loader.
   */
  loadStateDict(state: SamplerState | StreamState): void {
    if (this.#streams) this.#streams.progress.loadStateDict(state as StreamState);
    else this.#statefulSampler('loadStateDict').loadStateDict(state as SamplerState);
  }

  #newStreams(options: DataLoaderOptions<Sample, Batch>): Streams {
    const { numReplicas, rank, evenDivisible = true } = options;
    const { batchSize, numWorkers } = this;
    const seed = this.#seed ?? 0;
    return new Streams({
      batchSize,
      dropLast: this.#dropLast,
      numWorkers,
      seed,
      numReplicas,
      rank,
      evenDivisible,
    });
  }

  #samplesPerEpoch(): number {
    const { dataset } = this;
    if (!isIterable(dataset)) return this.sampler.length;
    if (dataset.length !== undefined) return dataset.length / this.#streams!.worldSize;
    throw new InvalidArgumentError(
      'DataLoader.length: expected a length of the iterable dataset, got none. Give it the number of its samples, or do not read the length.',
    );
  }

  #statefulSampler(method: string): StatefulSampler {
    if (isStateful(this.sampler)) return this.sampler;
    throw new InvalidArgumentError(
      `DataLoader.${method}: its sampler keeps no state. Give it a DistributedSampler, a RandomSampler or a SequentialSampler, ` +
        'or implement StatefulSampler.',
    );
  }

  /** Without `collateFn`, Batch is the result of `defaultCollate`. */
  #collate(samples: Sample[], memory: BatchMemory | undefined, identity: BatchIdentity): Batch {
    if (this.#collateFn) return this.#mixed(this.#collateFn(samples, memory), memory, identity);
    const { dtypes } = this.dataset;
    const batch = defaultCollate(samples, { adopt: this.dataset.batch !== undefined, memory, dtypes });
    return this.#checkedBatch(transformed(batch, this.#batchTransform, identity, memory) as Batch);
  }

  /** A batch of `collateFn` after the transform of batches, if there is one. */
  #mixed(batch: Batch, memory: BatchMemory | undefined, identity: BatchIdentity | undefined): Batch {
    return identity ? (transformed(batch, this.#batchTransform, identity, memory) as Batch) : batch;
  }

  #checkedBatch(batch: Batch): Batch {
    this.#fieldTypes.check(batch);
    return batch;
  }
}

function defaultSampler(
  dataset: Dataset<unknown>,
  { shuffle, seed }: DataLoaderOptions<never, unknown>,
): Sampler {
  return shuffle ? new RandomSampler(dataset, { seed: seed ?? 0 }) : new SequentialSampler(dataset);
}
