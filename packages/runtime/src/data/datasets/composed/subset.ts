import { requireInteger } from '@ringrun/core';
import type { DataPass, Dataset, WorkerDataset } from '../../dataset.ts';
import { createFromModule } from '../../dataset-from-module.ts';

/** The samples of a dataset at some indices, in their order (torch.utils.data.Subset). */
export class Subset<Sample> implements Dataset<Sample> {
  /** The whole dataset. */
  readonly dataset: Dataset<Sample>;
  /** Indices in the whole dataset. */
  readonly indices: readonly number[];
  /** Defined if the dataset reads batches. */
  readonly batch?: NonNullable<Dataset<Sample>['batch']>;
  /** Element types of numbers, if the dataset has them. */
  readonly dtypes?: NonNullable<Dataset<Sample>['dtypes']>;
  /** Defined if worker threads can create the dataset. */
  readonly forWorkers?: NonNullable<Dataset<Sample>['forWorkers']>;

  /** @throws InvalidArgumentError if an index is outside the dataset */
  constructor(dataset: Dataset<Sample>, indices: Iterable<number>) {
    this.dataset = dataset;
    this.indices = [...indices];
    const range = { who: 'Subset', what: 'each index', min: 0, max: dataset.length - 1 };
    for (const index of this.indices) requireInteger(index, range);
    if (dataset.dtypes) this.dtypes = dataset.dtypes;
    if (dataset.batch) {
      this.batch = (places, pass, memory) =>
        dataset.batch!(
          places.map((place) => this.indices[place]),
          pass,
          memory,
        );
    }
    if (dataset.forWorkers) {
      this.forWorkers = () => ({ module: import.meta.url, args: [dataset.forWorkers!(), this.indices] });
    }
  }

  /** Number of indices. */
  get length(): number {
    return this.indices.length;
  }

  /** The sample of the whole dataset whose index is at this position. */
  at(position: number, pass?: DataPass): ReturnType<Dataset<Sample>['at']> {
    return this.dataset.at(this.indices[position], pass);
  }
}

/** Creates a Subset in a worker thread. */
export async function createDataset(
  whole: WorkerDataset,
  indices: readonly number[],
): Promise<Subset<unknown>> {
  return new Subset(await createFromModule(whole.module, whole.args), indices);
}
