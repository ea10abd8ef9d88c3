import { setImmediate } from 'node:timers/promises';
import { InvalidArgumentError } from '@ringrun/collectives';
import { defaultCollate } from './collate.ts';
import type { Collated } from './collate.ts';
import type { Dataset } from './dataset.ts';
import { requireInteger } from './require-integer.ts';
import { RandomSampler, SequentialSampler } from './sampler.ts';
import type { Sampler } from './sampler.ts';
import { isStateful } from './sampler-state.ts';
import type { EpochPass, SamplerState, StatefulSampler } from './sampler-state.ts';

export interface DataLoaderOptions<Sample, Batch> {
  /** Samples in a batch; 1 unless given. */
  batchSize?: number;
  /** Visit the samples in a random order, a new one in each epoch; false unless given. */
  shuffle?: boolean;
  /** Which samples to visit, in which order, instead of `shuffle`; a DistributedSampler when several ranks share the dataset. */
  sampler?: Sampler;
  /** Leave out the last batch if it is smaller than the others; false unless given. */
  dropLast?: boolean;
  /** Where the random orders of `shuffle` start, an integer from 0; 0 unless given. */
  seed?: number;
  /** Makes one batch of samples, which are `batchSize` or, in the last batch, fewer; `defaultCollate` unless given. */
  collateFn?: (samples: Sample[]) => Batch;
}

/**
 * The batches of a dataset (torch.utils.data.DataLoader): each iteration is one epoch. A batch has memory of its own and may be kept.
 *
 * `for (const batch of loader)` runs without a pause. `for await (const batch of loader)` lets timers, signals and
 * connections be served between batches, and is the form that stays when loading becomes asynchronous.
 */
export class DataLoader<Sample, Batch = Collated<Sample>> implements Iterable<Batch>, AsyncIterable<Batch> {
  /** Number of batches in a whole epoch. */
  readonly length: number;
  readonly dataset: Dataset<Sample>;
  readonly sampler: Sampler;
  readonly batchSize: number;
  readonly #dropLast: boolean;
  readonly #collateFn: (samples: Sample[]) => Batch;

  /** Throws `InvalidArgumentError` for a batch size below 1, a negative seed, or both a sampler and `shuffle`. */
  constructor(dataset: Dataset<Sample>, options: DataLoaderOptions<Sample, Batch> = {}) {
    const who = 'DataLoader';
    requireNoContradiction(options);
    this.dataset = dataset;
    this.batchSize = requireInteger(options.batchSize ?? 1, { who, what: 'batchSize', min: 1 });
    this.sampler = options.sampler ?? defaultSampler(dataset, options);
    this.#dropLast = options.dropLast ?? false;
    // Without a collate function Batch is what the default one makes.
    const adopt = dataset.atAll !== undefined;
    this.#collateFn = options.collateFn ?? ((samples) => defaultCollate(samples, { adopt }) as Batch);
    const batches = this.sampler.length / this.batchSize;
    this.length = this.#dropLast ? Math.floor(batches) : Math.ceil(batches);
  }

  /** One epoch of batches. A sampler that gives an index outside of the dataset is an `InvalidArgumentError`. */
  *[Symbol.iterator](): Generator<Batch, void> {
    const pass = this.sampler[Symbol.iterator]();
    const count = isPass(pass) ? pass : undefined;
    count?.setUsed(0);
    let batches = 0;
    for (const indices of this.#indicesOf(pass)) {
      const batch = this.#batchOf(indices);
      batches += 1;
      // Whole batches, also for the last one: all ranks are at the same batch, and one whose last is smaller has no more to use.
      count?.setUsed(batches * this.batchSize);
      yield batch;
    }
    count?.finish();
  }

  /** One epoch of batches; the event loop has its turn after each. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void> {
    for (const batch of this) {
      yield batch;
      await setImmediate();
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

  *#indicesOf(pass: Iterator<number>): Generator<number[], void> {
    let indices: number[] = [];
    for (let drawn = pass.next(); !drawn.done; drawn = pass.next()) {
      indices.push(this.#checked(drawn.value));
      if (indices.length < this.batchSize) continue;
      yield indices;
      indices = [];
    }
    if (indices.length > 0 && !this.#dropLast) yield indices;
  }

  #batchOf(indices: readonly number[]): Batch {
    const { dataset } = this;
    return this.#collateFn(dataset.atAll?.(indices) ?? indices.map((index) => dataset.at(index)));
  }

  #checked(index: number): number {
    if (Number.isInteger(index) && index >= 0 && index < this.dataset.length) return index;
    throw new InvalidArgumentError(
      `DataLoader: the sampler gave index ${index}, but the dataset has ${this.dataset.length} samples, 0 to ` +
        `${this.dataset.length - 1}. Make the sampler for this dataset.`,
    );
  }
}

function isPass(iterator: Iterator<number>): iterator is EpochPass {
  return 'setUsed' in iterator;
}

function requireNoContradiction({ sampler, shuffle }: DataLoaderOptions<never, unknown>): void {
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
