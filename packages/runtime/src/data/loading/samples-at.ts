import type { BatchMemory, DataPass, Dataset } from '../dataset.ts';

/** The samples of a batch; a promise only if the dataset returns one. */
export function samplesAt<Sample>(
  dataset: Dataset<Sample>,
  indices: readonly number[],
  pass: DataPass,
  memory: BatchMemory | undefined,
): Sample[] | Promise<Sample[]> {
  const samples = dataset.batch?.(indices, pass, memory) ?? indices.map((index) => dataset.at(index, pass));
  if (samples instanceof Promise) return samples;
  const isReady = !samples.some((sample) => sample instanceof Promise);
  return isReady ? (samples as Sample[]) : Promise.all(samples);
}
