import { getRank, getWorldSize, isInitialized } from '../process-group/index.ts';
import { EpochCounter } from './epoch-counter.ts';
import { randperm } from './randperm.ts';
import { requireInteger } from './require-integer.ts';
import { lengthOf } from './sampler.ts';
import type { Sampler, Sized } from './sampler.ts';

export interface DistributedSamplerOptions {
  /** Number of ranks that share the dataset; the initialised group's unless given, 1 without a group. */
  numReplicas?: number;
  /** This process among them; the initialised group's unless given, 0 without a group. */
  rank?: number;
  /** Visit the dataset in a random order, a new one in each epoch; true unless given. */
  shuffle?: boolean;
  /** Where the random orders start, an integer from 0; the same on every rank; 0 unless given. */
  seed?: number;
  /** Leave out the last samples that do not divide evenly, instead of repeating the first ones; false unless given. */
  dropLast?: boolean;
}

/**
 * This rank's share of a dataset (torch.utils.data.DistributedSampler): of one order that all ranks know, every `numReplicas`-th index
 * from the `rank`-th on. Index by index it visits what torch visits with the same arguments and epoch.
 *
 * All ranks get equally many. What does not divide evenly is made up by repeating the order from its start, or is left out with
 * `dropLast`.
 *
 * The order of epoch `e` is `torch.randperm` seeded with `seed + e`. Unlike torch, where forgetting `setEpoch` repeats
 * one order for ever, each iteration begins the next epoch by itself; `setEpoch` sets which one it is, as a resumed job needs.
 * Ranks must therefore begin equally many iterations, or call `setEpoch` before each.
 */
export class DistributedSampler implements Sampler {
  /** How many indices each rank has in an epoch. */
  readonly length: number;
  readonly #datasetLength: number;
  readonly #numReplicas: number;
  readonly #rank: number;
  readonly #shuffle: boolean;
  readonly #seed: number;
  readonly #epochs = new EpochCounter('DistributedSampler');

  /** `dataset`: a dataset, or its length. Throws `InvalidArgumentError` for a rank outside of `numReplicas` or a negative number. */
  constructor(dataset: Sized, options: DistributedSamplerOptions = {}) {
    const who = 'DistributedSampler';
    const numReplicas = options.numReplicas ?? (isInitialized() ? getWorldSize() : 1);
    const rank = options.rank ?? (isInitialized() ? getRank() : 0);
    this.#datasetLength = lengthOf(dataset, who);
    this.#numReplicas = requireInteger(numReplicas, { who, what: 'numReplicas', min: 1 });
    this.#rank = requireInteger(rank, { who, what: 'rank', min: 0, max: this.#numReplicas - 1 });
    this.#seed = requireInteger(options.seed ?? 0, { who, what: 'seed', min: 0 });
    this.#shuffle = options.shuffle ?? true;
    const share = this.#datasetLength / this.#numReplicas;
    this.length = options.dropLast ? Math.floor(share) : Math.ceil(share);
  }

  /** The next iteration is epoch `epoch` (an integer from 0), those after it the following ones. */
  setEpoch(epoch: number): void {
    this.#epochs.set(epoch);
  }

  [Symbol.iterator](): Iterator<number> {
    const epoch = this.#epochs.take();
    const order = this.#shuffle ? randperm(this.#datasetLength, this.#seed + epoch) : undefined;
    return this.#shareOf(order);
  }

  *#shareOf(order: Uint32Array | undefined): Iterator<number> {
    for (let i = 0; i < this.length; i++) {
      const position = (this.#rank + i * this.#numReplicas) % this.#datasetLength;
      yield order ? order[position] : position;
    }
  }
}
