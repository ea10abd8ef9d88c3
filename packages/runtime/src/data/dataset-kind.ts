import type { Dataset, IterableDataset } from './dataset.ts';

/** A dataset of either kind. `iterate` may yield something other than samples, if the dataset has `batch`. */
export type AnyDataset<Sample = unknown> = Dataset<Sample> | IterableDataset<Sample, unknown>;

export function isIterable<Sample>(dataset: AnyDataset<Sample>): dataset is IterableDataset<Sample, unknown> {
  return 'iterate' in dataset;
}
