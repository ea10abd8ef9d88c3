import { InvalidArgumentError } from '@ringrun/core';
import { isTypeScript, runTypeScript } from '@ringrun/launcher';
import { isIterable, type AnyDataset } from './dataset-kind.ts';
import type { Dataset, IterableDataset } from './dataset.ts';

/** The exports of a dataset's module. */
interface DatasetModule {
  createDataset: (...args: readonly unknown[]) => unknown;
}

/**
 * Creates a dataset that worker threads can create too (`DataLoader`'s `numWorkers`). The module exports a
 * function `createDataset(...args)`, which returns the dataset or a promise of it. Each thread calls it.
 *
 *     const dataset = await datasetFromModule(new URL('./photos.ts', import.meta.url), { folder });
 *
 * `args` are cloned into the threads, so they must be data, not functions. Use a SharedArrayBuffer for large
 * data, since it is shared.
 *
 * @throws InvalidArgumentError if the module does not export that function or it does not return a dataset
 */
export async function datasetFromModule<Sample>(
  module: URL | string,
  ...args: readonly unknown[]
): Promise<Dataset<Sample>> {
  const url = String(module);
  const dataset = (await createFromModule(url, args)) as Dataset<Sample>;
  return { ...ofMap(dataset), forWorkers: () => ({ module: url, args }) };
}

/**
 * Creates an {@link IterableDataset} that worker threads can create too; otherwise like {@link datasetFromModule}.
 *
 * @throws InvalidArgumentError if the module does not export `createDataset` or it does not return an iterable dataset
 */
export async function iterableDatasetFromModule<Sample>(
  module: URL | string,
  ...args: readonly unknown[]
): Promise<IterableDataset<Sample>> {
  const url = String(module);
  const dataset = await createAnyFromModule(url, args);
  const forWorkers = () => ({ module: url, args });
  if (isIterable(dataset)) return { ...ofIterable(dataset as IterableDataset<Sample>), forWorkers };
  throw new InvalidArgumentError(
    `iterableDatasetFromModule: createDataset of ${url} returned a dataset with at(index). Call datasetFromModule.`,
  );
}

function ofMap<Sample>(dataset: Dataset<Sample>): Dataset<Sample> {
  return {
    length: dataset.length,
    at: (index, pass) => dataset.at(index, pass),
    ...(dataset.dtypes ? { dtypes: dataset.dtypes } : {}),
    ...(dataset.batch ? { batch: (indices, pass, memory) => dataset.batch!(indices, pass, memory) } : {}),
  };
}

function ofIterable<Sample>(dataset: IterableDataset<Sample>): IterableDataset<Sample> {
  return {
    ...(dataset.length === undefined ? {} : { length: dataset.length }),
    iterate: (share) => dataset.iterate(share),
    ...(dataset.dtypes ? { dtypes: dataset.dtypes } : {}),
    ...(dataset.batch ? { batch: (items, pass, memory) => dataset.batch!(items, pass, memory) } : {}),
  };
}

/** Creates a module's dataset with indices in this thread. */
export async function createFromModule(url: string, args: readonly unknown[]): Promise<Dataset<unknown>> {
  const dataset = await createAnyFromModule(url, args);
  if (!isIterable(dataset)) return dataset;
  throw new InvalidArgumentError(
    `datasetFromModule: createDataset of ${url} returned an iterable dataset. Call iterableDatasetFromModule.`,
  );
}

/** Creates a module's dataset in this thread. */
export async function createAnyFromModule(url: string, args: readonly unknown[]): Promise<AnyDataset> {
  if (isTypeScript(url)) await runTypeScript(url);
  const exported = (await import(url)) as Partial<DatasetModule>;
  if (typeof exported.createDataset !== 'function') {
    throw new InvalidArgumentError(
      `datasetFromModule: ${url} does not export a function createDataset. Add \`export function createDataset(…)\` that returns a dataset.`,
    );
  }
  const dataset = await exported.createDataset(...args);
  if (isDataset(dataset)) return dataset;
  throw new InvalidArgumentError(
    `datasetFromModule: createDataset of ${url} did not return a dataset. Return an object with a length and a method at(index), or with a method iterate(share).`,
  );
}

function isDataset(value: unknown): value is AnyDataset {
  const { length, at, iterate } = (value ?? {}) as Partial<Dataset<unknown> & IterableDataset<unknown>>;
  return (typeof length === 'number' && typeof at === 'function') || typeof iterate === 'function';
}
