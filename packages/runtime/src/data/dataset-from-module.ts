import { InvalidArgumentError } from '@ringrun/core';
import { isTypeScript, runTypeScript } from '../typescript/run-typescript.ts';
import type { Dataset } from './dataset.ts';

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
  return {
    length: dataset.length,
    at: (index, pass) => dataset.at(index, pass),
    ...(dataset.batch ? { batch: (indices, pass, memory) => dataset.batch!(indices, pass, memory) } : {}),
    forWorkers: () => ({ module: url, args }),
  };
}

/** Creates a module's dataset in this thread. */
export async function createFromModule(url: string, args: readonly unknown[]): Promise<Dataset<unknown>> {
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
    `datasetFromModule: createDataset of ${url} did not return a dataset. Return an object with a length and a method at(index).`,
  );
}

function isDataset(value: unknown): value is Dataset<unknown> {
  const { length, at } = (value ?? {}) as Partial<Dataset<unknown>>;
  return typeof length === 'number' && typeof at === 'function';
}
