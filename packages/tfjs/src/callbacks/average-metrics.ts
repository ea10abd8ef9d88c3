import type { ProcessGroup } from '@ringrun/core';
import { requireGroup } from '../ringrun.ts';
import type { TfTensor } from '../tensorflow.ts';
import { callback, type FitCallback, type Logs } from './callback.ts';
import { requireOptions } from '../require-options.ts';

/**
 * Averages losses and metrics, including `val_loss`, over all ranks at the end of each epoch (Horovod:
 * MetricAverageCallback). Put it first: later callbacks and the history of `fit` then have the same values on every rank,
 * and early stopping stops all ranks together.
 *
 * @throws TfjsError `ERR_NOT_INITIALIZED` without a process group
 */
export function averageMetrics(options: { processGroup?: ProcessGroup } = {}): FitCallback {
  requireOptions('averageMetrics', options, { processGroup: true });
  const { processGroup } = options;
  const group = requireGroup('averageMetrics', processGroup);
  return callback({
    async onEpochEnd(_, logs = {}) {
      const own = await numbersIn(logs);
      const all = await group.allGatherObject(own);
      for (const name of Object.keys(own)) logs[name] = mean(all.flatMap((each) => each[name] ?? []));
    },
  });
}

/** Converts logs to numbers. tf passes scalars to callbacks of its own class and does not dispose replaced ones. */
async function numbersIn(logs: Logs): Promise<Record<string, number>> {
  const numbers: Record<string, number> = {};
  for (const [name, value] of Object.entries(logs)) {
    if (typeof value === 'number') numbers[name] = value;
    else numbers[name] = await takeNumber(value as TfTensor & { data(): Promise<ArrayLike<number>> });
  }
  return numbers;
}

async function takeNumber(scalar: TfTensor & { data(): Promise<ArrayLike<number>> }): Promise<number> {
  const [value] = Array.from(await scalar.data());
  scalar.dispose();
  return value;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
