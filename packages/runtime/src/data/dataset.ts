import type { NumberDType } from './number-dtype.ts';
import type { ArrayNamed, ArrayTypeName } from './numeric-array.ts';

/** The pass over the data. Random augmentation depends on it and on the sample's index. */
export interface DataPass {
  /** An integer from 0. */
  seed: number;
  /** An integer from 0. */
  epoch: number;
}

/**
 * Allocates the arrays of a batch, so that later batches can reuse the memory (`reuseMemory` of
 * `DataLoader`).
 */
export interface BatchMemory {
  /**
   * Allocates an array with its own buffer, such as `array('Float32Array', 64)`. It may contain old values,
   * so the caller must write every element.
   */
  array<Name extends ArrayTypeName>(name: Name, length: number): ArrayNamed<Name>;
}

/**
 * Samples that are accessed by index (torch.utils.data.Dataset).
 *
 * `at` and `batch` may return promises. Then `for await` over a `DataLoader` reads the samples of a batch at the same
 * time, and later batches ahead; `for` without `await` throws.
 */
export interface Dataset<Sample> {
  /** Number of samples; constant. */
  readonly length: number;

  /**
   * Returns the sample at `index`, from 0 to `length` - 1, or a promise of it. The result must depend only on `index`
   * and `pass`. A dataset without augmentation ignores `pass`; one with augmentation uses `DataLoader`'s, or seed 0 and
   * epoch 0 if it is undefined.
   */
  at(index: number, pass?: DataPass): Sample | Promise<Sample>;

  /**
   * Returns the samples at `indices` (torch's `__getitems__`), or a promise of them. Implement it if reading a batch at
   * once is cheaper than one `at` per sample. DataLoader takes ownership of the returned arrays. Arrays allocated in
   * `memory` are reused for later batches; `memory` is undefined without `reuseMemory`.
   */
  batch?(indices: readonly number[], pass?: DataPass, memory?: BatchMemory): Sample[] | Promise<Sample[]>;

  /**
   * Element types of fields of the samples that are numbers, bigints or booleans, for `defaultCollate`. Default: int64 if
   * all values of a batch are safe integers, otherwise float64.
   */
  readonly dtypes?: Readonly<Record<string, NumberDType>>;

  /**
   * How worker threads create this dataset. Required for `DataLoader`'s `numWorkers`. `datasetFromModule`
   * sets it.
   */
  forWorkers?(): WorkerDataset;
}

/**
 * The share of a dataset that one reader visits: a worker thread of a rank (torch's `get_worker_info`, together with
 * rank and world size).
 */
export interface DataShare extends DataPass {
  /** Number of this reader among all readers of the job, from 0: `worker * worldSize + rank`. */
  index: number;
  /** Number of readers of the job: `worldSize * numWorkers`, or `worldSize` without workers. */
  count: number;
  /** Rank of this process, from 0. */
  rank: number;
  /** Number of ranks. */
  worldSize: number;
  /** Index of this worker thread within the rank, from 0. 0 without workers. */
  worker: number;
  /** Number of worker threads of the rank; 0 without workers. */
  numWorkers: number;
}

/**
 * Samples that are read one after another, such as a stream or files too large to index
 * (torch.utils.data.IterableDataset).
 *
 *     const lines = {
 *       async *iterate({ index, count }) {
 *         let number = 0;
 *         for await (const line of readLines()) if (number++ % count === index) yield parse(line);
 *       },
 *     };
 */
export interface IterableDataset<Sample, Item = Sample> {
  /** Number of samples of all shares together, if it is known. `DataLoader.length` is computed from it. */
  readonly length?: number;

  /**
   * Yields the samples of one share, once each. All shares together must be the dataset: each worker of each rank calls
   * it with another `index` below the same `count`. The result must depend only on `share`, so that a resumed run finds
   * the same samples.
   */
  iterate(share: DataShare): Iterable<Item> | AsyncIterable<Item>;

  /**
   * Creates the samples of one batch from the items that `iterate` yielded, such as by decoding images. A loader calls
   * it for one batch while `iterate` reads the next ones, and does not call it for samples that a resumed run skips.
   * Default: the items are the samples. `memory`: as in {@link Dataset.batch}.
   */
  batch?(items: readonly Item[], pass: DataPass, memory?: BatchMemory): Sample[] | Promise<Sample[]>;

  /** Element types of fields that are numbers; see {@link Dataset.dtypes}. */
  readonly dtypes?: Readonly<Record<string, NumberDType>>;

  /** How worker threads create this dataset; see {@link Dataset.forWorkers}. */
  forWorkers?(): WorkerDataset;
}

/** A module that creates a dataset in another thread. */
export interface WorkerDataset {
  /** The module's URL; it exports `createDataset`. */
  module: string;
  /** Arguments of its `createDataset`: cloneable data. Memory in a SharedArrayBuffer is shared. */
  args: readonly unknown[];
}
