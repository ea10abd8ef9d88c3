import { InvalidArgumentError } from '@ringrun/core';
import type { DataPass } from '../dataset.ts';
import type { EpochPass, Sampler } from '../sampler-state.ts';

/** One iteration of a loader. */
export interface Epoch {
  batches: Generator<number[], undefined>;
  pass: DataPass;
  /** Records that a batch was delivered to the loop. */
  deliver: () => void;
  /** Records that all batches were delivered. */
  finish: () => void;
}

/** The iterations of a loader over a dataset with indices. */
export class IndexEpochs {
  readonly sampler: Sampler;
  readonly #datasetLength: number;
  readonly #batchSize: number;
  readonly #dropLast: boolean;
  readonly #seed: number | undefined;
  /** Number of iterations so far: the epoch, if the sampler does not count epochs. */
  #iterations = 0;

  constructor(
    sampler: Sampler,
    options: { datasetLength: number; batchSize: number; dropLast: boolean; seed: number | undefined },
  ) {
    this.sampler = sampler;
    this.#datasetLength = options.datasetLength;
    this.#batchSize = options.batchSize;
    this.#dropLast = options.dropLast;
    this.#seed = options.seed;
  }

  /** Starts an iteration. */
  begin(): Epoch {
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
        // The last batch counts as a full one: all ranks are at the same batch, and only a rank's last batch can be
        // smaller.
        counted?.setUsed(delivered * this.#batchSize);
      },
      finish: () => counted?.finish(),
    };
  }

  *#indicesOf(iterator: Iterator<number>): Generator<number[], undefined> {
    let indices: number[] = [];
    for (let next = iterator.next(); !next.done; next = iterator.next()) {
      indices.push(this.#checked(next.value));
      if (indices.length < this.#batchSize) continue;
      yield indices;
      indices = [];
    }
    if (indices.length > 0 && !this.#dropLast) yield indices;
  }

  #checked(index: number): number {
    const length = this.#datasetLength;
    if (Number.isInteger(index) && index >= 0 && index < length) return index;
    throw new InvalidArgumentError(
      `DataLoader: the sampler returned index ${index}, but the dataset has ${length} samples, 0 to ` +
        `${length - 1}. Make the sampler for this dataset.`,
    );
  }
}

function isPass(iterator: Iterator<number>): iterator is EpochPass {
  return 'setUsed' in iterator;
}
