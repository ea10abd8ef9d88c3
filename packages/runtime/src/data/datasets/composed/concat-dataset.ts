import { InvalidArgumentError } from '@ringrun/core';
import type { DataPass, Dataset, WorkerDataset } from '../../dataset.ts';
import { createFromModule } from '../../dataset-from-module.ts';

/** The samples of several datasets, one after the other (torch.utils.data.ConcatDataset). */
export class ConcatDataset<Sample> implements Dataset<Sample> {
  /** The datasets, in order. */
  readonly datasets: readonly Dataset<Sample>[];
  /** Element types of numbers, if the first dataset has them. */
  readonly dtypes?: NonNullable<Dataset<Sample>['dtypes']>;
  /** Defined if worker threads can create all of the datasets. */
  readonly forWorkers?: NonNullable<Dataset<Sample>['forWorkers']>;
  /** Number of samples up to the end of each dataset. */
  readonly #ends: readonly number[];

  /** @throws InvalidArgumentError without a dataset */
  constructor(datasets: Iterable<Dataset<Sample>>) {
    this.datasets = [...datasets];
    if (this.datasets.length === 0) {
      throw new InvalidArgumentError('ConcatDataset: expected at least one dataset, got none.');
    }
    const { dtypes } = this.datasets[0];
    if (dtypes) this.dtypes = dtypes;
    let end = 0;
    this.#ends = this.datasets.map(({ length }) => (end += length));
    const inWorkers = this.datasets.map((dataset) => dataset.forWorkers && (() => dataset.forWorkers!()));
    if (inWorkers.every((create) => create !== undefined)) {
      this.forWorkers = () => ({ module: import.meta.url, args: inWorkers.map((create) => create()) });
    }
  }

  /** Number of samples of all datasets. */
  get length(): number {
    return this.#ends.at(-1)!;
  }

  /** The sample at an index of the whole. */
  at(index: number, pass?: DataPass): ReturnType<Dataset<Sample>['at']> {
    // An index out of range reaches the last dataset, which rejects it.
    const part = this.#ends.findIndex((end) => index < end);
    const dataset = this.datasets.at(part)!;
    return dataset.at(index - (this.#ends.at(part)! - dataset.length), pass);
  }
}

/** Creates a ConcatDataset in a worker thread. */
export async function createDataset(...parts: readonly WorkerDataset[]): Promise<ConcatDataset<unknown>> {
  return new ConcatDataset(
    await Promise.all(parts.map(({ module, args }) => createFromModule(module, args))),
  );
}
