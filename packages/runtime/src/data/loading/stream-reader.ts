import type { AnyDataset } from '../dataset-kind.ts';
import type { BatchMemory, DataShare } from '../dataset.ts';
import { SampleStream } from '../sample-stream.ts';
import type { WantedNext } from '../workers/messages.ts';
import type { BatchIdentity } from './batch-identity.ts';

/** The samples of a batch, and what its random numbers depend on. */
export interface StreamBatch<Sample> {
  samples: Sample[];
  identity: BatchIdentity;
}

/** Reads one share of an iterable dataset after the other, a batch at a time. */
export class StreamReader<Sample> {
  readonly #dataset: AnyDataset<Sample>;
  #stream: SampleStream<Sample, unknown> | undefined;
  #batchSize = 0;
  #share: DataShare | undefined;
  /** Batches of the share so far, with those that were skipped. */
  #count = 0;

  constructor(dataset: AnyDataset<Sample>) {
    this.#dataset = dataset;
  }

  /** Whether the share that is being read returns promises. */
  get isAsynchronous(): boolean {
    return this.#stream?.isAsynchronous ?? false;
  }

  /** The samples of the next batch of the share. `begin` starts another share. */
  async next(
    { begin, skip, dropLast }: WantedNext,
    memory: BatchMemory | undefined,
  ): Promise<StreamBatch<Sample> | 'ended' | 'skipped'> {
    if (begin) {
      this.#share = begin.share;
      this.#count = 0;
      this.#batchSize = begin.batchSize;
      this.#stream = new SampleStream(this.#dataset as never, begin.share, begin.batchSize);
    }
    const stream = this.#stream!;
    const { seed, epoch, index } = this.#share!;
    const identity = { pass: { seed, epoch }, numbers: [index, this.#count] };
    this.#count += 1;
    const least = dropLast ? this.#batchSize : 1;
    if (skip) return (await stream.skip()) < least ? 'ended' : 'skipped';
    const samples = await stream.next(memory);
    return samples.length < least ? 'ended' : { samples, identity };
  }

  /** Ends a share that has not been read to its end. */
  async end(): Promise<void> {
    await this.#stream?.end();
  }
}
