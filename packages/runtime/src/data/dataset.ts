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

/** Samples that are accessed by index (torch.utils.data.Dataset). */
export interface Dataset<Sample> {
  /** Number of samples; constant. */
  readonly length: number;

  /**
   * Returns the sample at `index`, from 0 to `length` - 1. The result must depend only on `index` and `pass`.
   * A dataset without augmentation ignores `pass`; one with augmentation uses `DataLoader`'s, or seed 0 and
   * epoch 0 if it is undefined.
   */
  at(index: number, pass?: DataPass): Sample;

  /**
   * Returns the samples at `indices` (torch's `__getitems__`). Implement it if reading a batch at once is
   * cheaper than one `at` per sample. DataLoader takes ownership of the returned arrays. Arrays allocated in
   * `memory` are reused for later batches; `memory` is undefined without `reuseMemory`.
   */
  batch?(indices: readonly number[], pass?: DataPass, memory?: BatchMemory): Sample[];

  /**
   * How worker threads create this dataset. Required for `DataLoader`'s `numWorkers`. `datasetFromModule`
   * sets it.
   */
  forWorkers?(): WorkerDataset;
}

/** A module that creates a dataset in another thread. */
export interface WorkerDataset {
  /** The module's URL; it exports `createDataset`. */
  module: string;
  /** Arguments of its `createDataset`: cloneable data. Memory in a SharedArrayBuffer is shared. */
  args: readonly unknown[];
}
