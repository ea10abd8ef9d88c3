import { InvalidArgumentError } from '@ringrun/collectives/errors';
import { isTypeScript, runTypeScript } from '../typescript/run-typescript.ts';
import type { Dataset } from './dataset.ts';

/** What a dataset's module exports. */
interface DatasetModule {
  createDataset: (...args: readonly unknown[]) => unknown;
}

/**
 * A dataset that worker threads can have too (`DataLoader`'s `numWorkers`): the module exports a function `createDataset(...args)`, which returns the dataset or a promise
 * of it, and each thread calls it for itself.
 *
 *     const dataset = await datasetFromModule(new URL('./photos.ts', import.meta.url), { folder });
 *
 * `args` reach the threads by cloning: data, not functions. Memory in a SharedArrayBuffer is shared and should be preferred for what is large. `InvalidArgumentError` for a
 * module without that function, or one that returns no dataset.
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
    ...(dataset.atAll ? { atAll: (indices, pass, memory) => dataset.atAll!(indices, pass, memory) } : {}),
    forWorkers: () => ({ module: url, args }),
  };
}

/** The dataset that a module makes, in this thread. */
export async function createFromModule(url: string, args: readonly unknown[]): Promise<Dataset<unknown>> {
  if (isTypeScript(url)) await runTypeScript();
  const exported = (await import(url)) as Partial<DatasetModule>;
  if (typeof exported.createDataset !== 'function') {
    throw new InvalidArgumentError(
      `datasetFromModule: ${url} exports no function createDataset. Add \`export function createDataset(…)\` that returns a dataset.`,
    );
  }
  const dataset = await exported.createDataset(...args);
  if (isDataset(dataset)) return dataset;
  throw new InvalidArgumentError(
    `datasetFromModule: createDataset of ${url} returned no dataset. Return an object with a length and a method at(index).`,
  );
}

function isDataset(value: unknown): value is Dataset<unknown> {
  const { length, at } = (value ?? {}) as Partial<Dataset<unknown>>;
  return typeof length === 'number' && typeof at === 'function';
}
