import { setImmediate } from 'node:timers/promises';
import type { ReusedMemory } from '../batch-memory.ts';
import { isIterable, type AnyDataset } from '../dataset-kind.ts';
import type { BatchMemory } from '../dataset.ts';
import type { MadeBatch, Wanted, WantedNext } from '../workers/messages.ts';
import type { BatchIdentity } from './batch-identity.ts';
import type { BatchMaker } from './batch-maker.ts';
import type { MemoryPool } from './memory-pool.ts';
import { samplesAt } from './samples-at.ts';
import { StreamReader } from './stream-reader.ts';
import type { StreamBatch } from './stream-reader.ts';

/** Creates a batch of samples. */
export type Collate<Sample, Batch> = (
  samples: Sample[],
  memory: BatchMemory | undefined,
  identity: BatchIdentity,
) => Batch;

interface LocalBatch extends MadeBatch {
  reused: ReusedMemory | undefined;
}

/** Makes batches in the thread of the loop. */
export class LocalMaker<Sample, Batch> implements BatchMaker<Batch> {
  readonly #dataset: AnyDataset<Sample>;
  readonly #collate: Collate<Sample, Batch>;
  readonly #pool: MemoryPool;
  readonly #prefetchFactor: number;
  readonly #stream: StreamReader<Sample>;
  /** Whether the dataset returns promises for samples by index, which its first batch shows. */
  #returnsPromises = false;

  constructor(
    dataset: AnyDataset<Sample>,
    collate: Collate<Sample, Batch>,
    { pool, prefetchFactor }: { pool: MemoryPool; prefetchFactor: number },
  ) {
    this.#dataset = dataset;
    this.#stream = new StreamReader(dataset);
    this.#collate = collate;
    this.#pool = pool;
    this.#prefetchFactor = prefetchFactor;
  }

  get ahead(): number {
    return this.#returnsPromises || this.#stream.isAsynchronous ? this.#prefetchFactor : 0;
  }

  async load(_reader: number, wanted: Wanted): Promise<LocalBatch | undefined> {
    const reused = this.#pool.take();
    const made =
      'indices' in wanted ? await this.#madeAt(wanted, reused) : await this.#stream.next(wanted, reused);
    if (made === 'ended') {
      this.#pool.giveBack(reused);
      return undefined;
    }
    const batch = made === 'skipped' ? undefined : this.#collate(made.samples, reused, made.identity);
    return { batch, memory: [], reused };
  }

  waitFor<T>(loading: Promise<T>): Promise<T> {
    return loading;
  }

  finish({ batch }: MadeBatch): Batch {
    return batch as Batch;
  }

  reclaim(made: MadeBatch): void {
    this.#pool.giveBack((made as LocalBatch).reused);
  }

  /** Other work of the event loop runs between batches. */
  async pause(): Promise<void> {
    await setImmediate();
  }

  /** Ends a share that has not been read to its end. */
  async end(): Promise<void> {
    await this.#stream.end();
  }

  /** Does not await samples that are not promises, so that they are read in the loop's turn. */
  #madeAt(
    { indices, pass }: Exclude<Wanted, WantedNext>,
    memory: BatchMemory | undefined,
  ): StreamBatch<Sample> | Promise<StreamBatch<Sample>> {
    const dataset = this.#dataset;
    if (isIterable(dataset)) throw new TypeError('an iterable dataset has no indices');
    const samples = samplesAt(dataset, indices, pass, memory);
    this.#returnsPromises = samples instanceof Promise;
    const identity = { pass, numbers: indices };
    if (samples instanceof Promise) return samples.then((read) => ({ samples: read, identity }));
    return { samples, identity };
  }
}
