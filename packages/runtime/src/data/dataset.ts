import type { ArrayNamed, ArrayTypeName } from './numeric-array.ts';

/** In which pass over the data a sample is asked for: what augmentation draws its chances from, with the sample's index. */
export interface DataPass {
  /** An integer from 0. */
  seed: number;
  /** An integer from 0. */
  epoch: number;
}

/** Where the arrays of a batch are made, so that later batches can have their memory (`reuseMemory` of `DataLoader`). */
export interface BatchMemory {
  /**
   * An array in a buffer of its own, such as `array('Float32Array', 64)`. Its elements are what an earlier batch may have left there, not zeros: whoever asks for it writes
   * all of them.
   */
  array<Name extends ArrayTypeName>(name: Name, length: number): ArrayNamed<Name>;
}

/** Samples that can be asked for by index, as torch.utils.data.Dataset. */
export interface Dataset<Sample> {
  /** How many samples there are; does not change. */
  readonly length: number;

  /**
   * The sample at `index`, 0 to `length` - 1: the same one each time for the same `pass`, whatever was asked for before. A dataset that does not augment has no use
   * for `pass`; one that does sees that of `DataLoader`, and takes seed 0 and epoch 0 where there is none.
   */
  at(index: number, pass?: DataPass): Sample;

  /**
   * The samples at `indices`, where that costs less than one `at` for each: reading them together, or placing them in one array
   * (torch's `__getitems__`). DataLoader asks for a batch at a time, and keeps the samples' arrays as the batch's own. Arrays that lie in `memory` are used again for
   * a later batch; a loader without `reuseMemory` gives none.
   */
  atAll?(indices: readonly number[], pass?: DataPass, memory?: BatchMemory): Sample[];

  /** How worker threads come by this dataset (`DataLoader`'s `numWorkers`); without it they cannot. `datasetFromModule` makes datasets that have it. */
  forWorkers?(): WorkerDataset;
}

/** A module that makes a dataset again in another thread. */
export interface WorkerDataset {
  /** The module's URL; it exports `createDataset`. */
  module: string;
  /** What its `createDataset` is called with: data that can be cloned, where memory in a SharedArrayBuffer is shared. */
  args: readonly unknown[];
}
