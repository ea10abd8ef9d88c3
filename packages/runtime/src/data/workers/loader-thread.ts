/**
 * A thread that creates batches for a `DataLoader`. It creates the dataset from its module and answers every
 * request with one reply.
 *
 * It imports `@ringrun/core` and not `@ringrun/collectives`, because loading the addon would take 60 ms per
 * thread.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { ReusedMemory } from '../batch-memory.ts';
import { defaultCollate } from '../collate.ts';
import { createFromModule } from '../dataset-from-module.ts';
import type { BatchMemory, Dataset } from '../dataset.ts';
import type { BatchReply, BatchRequest, LoaderThreadData } from './messages.ts';
import { ownCopy, transferable, withoutTensors } from './transfer.ts';

const { module, args, collates } = workerData as LoaderThreadData;
const port = parentPort!;
// The port queues requests until the listener is added.
const made: { dataset: Dataset<unknown> } | { failure: unknown } = await createFromModule(module, args).then(
  (dataset) => ({ dataset }),
  (failure: unknown) => ({ failure }),
);
port.on('message', (request: BatchRequest) => {
  if ('failure' in made) reply({ failure: asError(made.failure), index: undefined });
  else answer(made.dataset, request);
});

function answer(dataset: Dataset<unknown>, request: BatchRequest): void {
  try {
    const reused = request.memory && new ReusedMemory(request.memory);
    const batch = batchOf(dataset, request, reused);
    const memory = reused?.taken ?? [];
    const handedOver = new Set([...transferable(batch), ...memory]);
    port.postMessage({ batch, memory } satisfies BatchReply, [...handedOver]);
  } catch (error) {
    reply({ failure: asError(error), index: failingIndex(dataset, request) });
  }
}

/** Copies the arrays of `at`, which may belong to the dataset; those of `batch` belong to the batch. */
function batchOf(
  dataset: Dataset<unknown>,
  { indices, pass }: BatchRequest,
  memory: BatchMemory | undefined,
): unknown {
  const together = dataset.batch?.(indices, pass, memory);
  const samples = together ?? indices.map((index) => dataset.at(index, pass));
  if (collates) return defaultCollate(samples, { adopt: together !== undefined, memory });
  const arrays = samples.map((sample) => withoutTensors(sample));
  return together ? arrays : ownCopy(arrays);
}

/** The first index whose sample fails on its own; undefined if only the batch fails. */
function failingIndex(dataset: Dataset<unknown>, { indices, pass }: BatchRequest): number | undefined {
  return indices.find((index) => {
    try {
      dataset.at(index, pass);
      return false;
    } catch {
      return true;
    }
  });
}

function reply(message: BatchReply): void {
  port.postMessage(message);
}

/** Reduces errors to name, message and stack, because other properties may not be cloneable. */
function asError(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  const { name, message, stack } = thrown;
  return Object.assign(new Error(message), { name, stack });
}
