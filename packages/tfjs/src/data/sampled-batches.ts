import { TfjsError } from '../errors.ts';
import { engine, tensorOf, type TfTensor } from '../tensorflow.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Tensors whose first dimension counts samples, as in `model.fit`: `{ xs, ys }`, lists, or objects by name. */
export type SampleTensors = object;

/** Options of {@link sampledBatches}. */
export interface SampledBatchesOptions {
  /** Yields this rank's indices of one epoch per iteration, such as ringrun's DistributedSampler. */
  sampler: Iterable<number>;
  /** Samples per batch and rank. */
  batchSize: number;
  /** If true, drops the last batch if it is not full. Default: false. */
  dropLast?: boolean;
}

const optionNames: OptionNames<SampledBatchesOptions> = { sampler: true, batchSize: true, dropLast: true };

/**
 * Yields this rank's batches of one epoch from tensors that every rank holds entirely, in the order of a
 * DistributedSampler (torch's permutations, a new one per epoch).
 *
 *     const sampler = new DistributedSampler(xs.shape[0]);
 *     const data = tf.data.generator(() => sampledBatches({ xs, ys }, { sampler, batchSize: 32 }));
 *     await model.fitDataset(data, { epochs: 3 });
 *
 * The caller owns the batches: `fitDataset` disposes them; in your own loop, call `tf.dispose(batch)`.
 *
 * @throws TfjsError `ERR_ARGUMENT`, at the first batch, for an invalid batch size, tensors with different numbers of
 *   samples, or an index out of range
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
    `sampledBatches: expected tensors with the same number of samples, got ${[...counts].join(', ') || 'none'}.`,
  );
}

function requireIndex(index: number, samples: number): void {
  if (Number.isSafeInteger(index) && index >= 0 && index < samples) return;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `sampledBatches: expected indices below ${samples}, the number of samples, got ${index} from the sampler. Use new DistributedSampler(${samples}).`,
  );
}
