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
import { createAnyFromModule } from '../dataset-from-module.ts';
import type { BatchMemory, Dataset, IterableDataset } from '../dataset.ts';
import { isIterable, type AnyDataset } from '../dataset-kind.ts';
import { samplesAt } from '../loading/samples-at.ts';
import { StreamReader } from '../loading/stream-reader.ts';
import type { StreamBatch } from '../loading/stream-reader.ts';
import type {
  BatchReply,
  BatchRequest,
  LoaderThreadData,
  MadeBatch,
  Wanted,
  WantedNext,
} from './messages.ts';
import { ownCopy, transferable, withoutTensors } from './transfer.ts';

type WantedAt = Exclude<Wanted, WantedNext>;

/** A dataset, and where it is read if it is iterable. */
interface Source {
  readonly dataset: AnyDataset;
  readonly reader: StreamReader<unknown>;
}

const { module, args, collates, batchTransform } = workerData as LoaderThreadData;
const port = parentPort!;
// Only threads that mix batches import the addon's package.
const mixing = batchTransform && collates && (await import('../loading/batch-identity.ts'));
// The port queues requests until the listener is added.
const made: { source: Source } | { failure: unknown } = await createAnyFromModule(module, args).then(
  (dataset) => ({ source: { dataset, reader: new StreamReader(dataset) } }),
  (failure: unknown) => ({ failure }),
);
/** Settles when all replies before the next one have been sent. */
let replied: Promise<void> = Promise.resolve();
port.on('message', (request: BatchRequest) => {
  if ('failure' in made) reply({ failure: asError(made.failure), index: undefined });
  else answer(made.source, request);
});

/** Batches of asynchronous datasets are created concurrently, and sent in the order of the requests. */
function answer(source: Source, request: BatchRequest): void {
  const making = makeBatch(source, request);
  // Awaited only after the preceding batches.
  making.catch(() => undefined);
  replied = replied.then(async () => {
    try {
      const { batch, memory, identity, ended } = await making;
      if (ended) reply({ ended });
      else
        port.postMessage({ batch, memory, identity } satisfies BatchReply, [
          ...new Set([...transferable(batch), ...memory]),
        ]);
    } catch (error) {
      reply({ failure: asError(error), index: await failingIndex(source.dataset, request) });
    }
  });
}

async function makeBatch(
  { dataset, reader }: Source,
  request: BatchRequest,
): Promise<MadeBatch & { ended?: true }> {
  const reused = request.memory && new ReusedMemory(request.memory);
  const made = isIterable(dataset)
    ? await nextOf(dataset, reader, request as WantedNext, reused)
    : await madeAt(dataset, request as WantedAt, reused);
  if (made === 'ended') return { batch: undefined, memory: [], ended: true };
  if (made === 'skipped') return { batch: undefined, memory: request.memory ?? [] };
  const batch = batchOf(made, reused, dataset.dtypes);
  const identity = batchTransform && !collates ? made.identity : undefined;
  return { batch, memory: reused?.taken ?? [], identity };
}

/** Samples, and whether their arrays belong to the batch. */
interface Made extends StreamBatch<unknown> {
  owned: boolean;
}

async function madeAt(
  dataset: Dataset<unknown>,
  { indices, pass }: WantedAt,
  memory: BatchMemory | undefined,
): Promise<Made> {
  const samples = await samplesAt(dataset, indices, pass, memory);
  return { samples, identity: { pass, numbers: indices }, owned: dataset.batch !== undefined };
}

async function nextOf(
  dataset: IterableDataset<unknown>,
  reader: StreamReader<unknown>,
  request: WantedNext,
  memory: BatchMemory | undefined,
): Promise<Made | 'ended' | 'skipped'> {
  const next = await reader.next(request, memory);
  return typeof next === 'string' ? next : { ...next, owned: dataset.batch !== undefined };
}

/** Copies arrays that may belong to the dataset. */
function batchOf(
  { samples, identity, owned }: Made,
  memory: BatchMemory | undefined,
  dtypes: AnyDataset['dtypes'],
): unknown {
  if (collates) {
    const batch = defaultCollate(samples, { adopt: owned, memory, dtypes });
    return mixing ? mixing.transformed(batch, batchTransform, identity, memory) : batch;
  }
  const arrays = samples.map((sample) => withoutTensors(sample));
  return owned ? arrays : ownCopy(arrays);
}

/** The first index whose sample fails on its own; undefined if only the batch fails, or has no indices. */
async function failingIndex(dataset: AnyDataset, request: BatchRequest): Promise<number | undefined> {
  if (isIterable(dataset) || !('indices' in request)) return undefined;
  for (const index of request.indices) {
    try {
      await dataset.at(index, request.pass);
    } catch {
      return index;
    }
  }
  return undefined;
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
