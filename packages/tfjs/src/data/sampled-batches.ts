import { TfjsError } from '../errors.ts';
import { engine, tensorOf, type TfTensor } from '../tensorflow.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Tensors whose first dimension counts samples, as `model.fit` takes them: `{ xs, ys }`, lists, or records by name. */
export type SampleTensors = object;

export interface SampledBatchesOptions {
  /** Gives this rank's indices, in the order of one epoch, each time it is iterated: ringrun's DistributedSampler. */
  sampler: Iterable<number>;
  /** Samples in a batch of this rank. */
  batchSize: number;
  /** Leave out a last batch that is not full; false unless given. */
  dropLast?: boolean;
}

const optionNames: OptionNames<SampledBatchesOptions> = { sampler: true, batchSize: true, dropLast: true };

/**
 * The batches of one epoch out of tensors that every rank has whole, by a DistributedSampler: torch's permutations, another in each epoch.
 *
 *     const sampler = new DistributedSampler(xs.shape[0]);
 *     const data = tf.data.generator(() => sampledBatches({ xs, ys }, { sampler, batchSize: 32 }));
 *     await model.fitDataset(data, { epochs: 3 });
 *
 * Batches belong to whoever takes them: `fitDataset` disposes of them, in a loop of your own call `tf.dispose(batch)`. The tensors stay.
 *
 * @throws TfjsError `ERR_ARGUMENT`, at the first batch, for a batch size that is none, tensors of different numbers of samples, or an index outside of them
 */
export function* sampledBatches<Tensors extends SampleTensors>(
  tensors: Tensors,
  options: SampledBatchesOptions,
): Generator<Tensors, void, undefined> {
  requireOptions('sampledBatches', options, optionNames);
  const { sampler, batchSize, dropLast = false } = options;
  if (!Number.isSafeInteger(batchSize) || batchSize < 1) {
    throw new TfjsError(
      'ERR_ARGUMENT',
      `sampledBatches: batchSize must be a whole number from 1, got ${batchSize}.`,
    );
  }
  const samples = samplesIn(tensors);
  let indices: number[] = [];
  for (const index of sampler) {
    requireIndex(index, samples);
    indices.push(index);
    if (indices.length < batchSize) continue;
    yield rowsOf(tensors, indices);
    indices = [];
  }
  if (indices.length > 0 && !dropLast) yield rowsOf(tensors, indices);
}

function rowsOf<Tensors extends SampleTensors>(tensors: Tensors, indices: readonly number[]): Tensors {
  const positions = tensorOf(Int32Array.from(indices), { shape: [indices.length], dtype: 'int32' });
  const gather = (x: TfTensor) =>
    engine().runKernel('GatherV2', { x, indices: positions } as never, { axis: 0, batchDims: 0 } as never);
  const rows = mapTensors(tensors, gather) as Tensors;
  positions.dispose();
  return rows;
}

function mapTensors(container: unknown, change: (tensor: TfTensor) => unknown): unknown {
  if (isTensor(container)) return change(container);
  if (Array.isArray(container)) return container.map((each) => mapTensors(each, change));
  const entries = Object.entries(container as object);
  return Object.fromEntries(entries.map(([name, each]) => [name, mapTensors(each, change)]));
}

function isTensor(thing: unknown): thing is TfTensor {
  return typeof (thing as TfTensor | undefined)?.dataSync === 'function';
}

function samplesIn(tensors: SampleTensors): number {
  const counts = new Set<number>();
  mapTensors(tensors, ({ shape }) => counts.add(shape[0]));
  const [count] = counts;
  if (counts.size === 1) return count;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `sampledBatches: expected tensors of one number of samples, got ${[...counts].join(', ') || 'none'}.`,
  );
}

function requireIndex(index: number, samples: number): void {
  if (Number.isSafeInteger(index) && index >= 0 && index < samples) return;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `sampledBatches: the sampler gave index ${index}, and there are ${samples} samples. Make it for as many: new DistributedSampler(${samples}).`,
  );
}
