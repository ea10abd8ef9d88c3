import type { ProcessGroup } from 'ringrun';
import { requireGroup } from '../ringrun.ts';
import type { TfTensor } from '../tensorflow.ts';
import { callback, type FitCallback, type Logs } from './callback.ts';
import { requireOptions } from '../require-options.ts';

/**
 * At the end of each epoch, losses and metrics become their means over the ranks, `val_loss` and the like included (Horovod: MetricAverageCallback). What follows in the list, and
 * the history that `fit` resolves with, have the means, the same on every rank: put it first, so that early stopping stops all ranks together.
 *
 * @throws TfjsError `ERR_NOT_INITIALIZED` outside of a group
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

/** tf gives scalars to callbacks of its own class. Nobody disposes of those that are replaced. */
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
