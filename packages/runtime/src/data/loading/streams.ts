import { requireInteger } from '@ringrun/core';
import type { ProcessGroup } from '@ringrun/core';
import { newGroup, shareOfProcess } from '../../process-group/groups.ts';
import type { DataShare } from '../dataset.ts';
import type { BatchMaker } from './batch-maker.ts';
import { batchesOf } from './batches-of.ts';
import { EvenEnds, evenBatches } from './even-ends.ts';
import { StreamPlan } from './plan.ts';
import { StreamProgress } from './stream-progress.ts';

/** How a loader reads an iterable dataset. */
export interface StreamOptions {
  batchSize: number;
  dropLast: boolean;
  numWorkers: number;
  seed: number;
  /** Default: those of the default group, whose ranks then agree on even ends. */
  numReplicas: number | undefined;
  rank: number | undefined;
  evenDivisible: boolean;
}

/** The iterations of a loader over an iterable dataset. */
export class Streams {
  readonly progress: StreamProgress;
  /** Number of ranks that share the dataset. */
  readonly worldSize: number;
  readonly #rank: number;
  readonly #options: StreamOptions;
  /** Ranks agree in a separate group, which their first iteration forms; undefined if they do not agree. */
  #group: Promise<ProcessGroup> | undefined;
  readonly #agrees: boolean;

  /** @throws InvalidArgumentError for a rank out of range */
  constructor(options: StreamOptions) {
    const who = 'DataLoader';
    const share = shareOfProcess();
    const { numReplicas, rank, evenDivisible } = options;
    this.worldSize = requireInteger(numReplicas ?? share.worldSize, { who, what: 'numReplicas', min: 1 });
    this.#rank = requireInteger(rank ?? share.rank, { who, what: 'rank', min: 0, max: this.worldSize - 1 });
    this.#options = options;
    this.#agrees = evenDivisible && numReplicas === undefined && rank === undefined && share.worldSize > 1;
    const { seed, batchSize, numWorkers } = options;
    this.progress = new StreamProgress(seed, { batchSize, numReplicas: this.worldSize, numWorkers });
  }

  /** One epoch, or the rest of the epoch of a loaded state. */
  async *batches<Batch>(maker: BatchMaker<Batch>): AsyncGenerator<Batch, void> {
    const { skips, ...pass } = this.progress.begin();
    const shares = this.#sharesOf(pass);
    const open = (skipped: number) => {
      const plan = new StreamPlan(shares, { ...this.#options, skips: skipped });
      return { plan, batches: batchesOf(maker, plan) };
    };
    const ends = this.#agrees
      ? new EvenEnds(await this.#ownGroup(), { dropLast: this.#options.dropLast, epoch: pass.epoch })
      : undefined;
    for await (const batch of ends ? evenBatches(open, skips, ends) : open(skips).batches) {
      this.progress.deliver();
      yield batch;
    }
    this.progress.finish();
  }

  /** The first workers of all ranks come first, so that few parts of a dataset are spread over all ranks. */
  #sharesOf(pass: { seed: number; epoch: number }): DataShare[] {
    const { numWorkers } = this.#options;
    const { worldSize } = this;
    const rank = this.#rank;
    const readers = Math.max(1, numWorkers);
    return Array.from({ length: readers }, (_, worker) => {
      const index = worker * worldSize + rank;
      return { ...pass, index, count: readers * worldSize, rank, worldSize, worker, numWorkers };
    });
  }

  #ownGroup(): Promise<ProcessGroup> {
    this.#group ??= newGroup().then((group) => group!);
    return this.#group;
  }
}
