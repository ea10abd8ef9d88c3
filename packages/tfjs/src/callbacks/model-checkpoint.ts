import type { ProcessGroup } from 'ringrun';
import { TfjsError } from '../errors.ts';
import { requireGroup } from '../ringrun.ts';
import { callback, type FitCallback } from './callback.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** tf.LayersModel, as far as it is saved. */
export interface SavableModel {
  save(target: never, config?: { includeOptimizer?: boolean }): Promise<unknown>;
}

export interface ModelCheckpointOptions {
  /** Epochs between two checkpoints; 1 unless given. */
  every?: number;
  /** Whether the optimizer's state is saved too, so that training can go on; true unless given. */
  includeOptimizer?: boolean;
  processGroup?: ProcessGroup;
}

const optionNames: OptionNames<ModelCheckpointOptions> = {
  every: true,
  includeOptimizer: true,
  processGroup: true,
};

/**
 * Saves the model at the end of epochs, on rank 0 alone: all ranks have the same one. The others wait, and when it fails, all ranks fail.
 *
 * @param target what `model.save` takes, such as `folder('runs/1')` or, with tfjs-node, `'file://runs/1'`; or a function of the epoch, from 0, that gives one
 * @throws TfjsError `ERR_ARGUMENT` for an `every` that is no number of epochs; `ERR_NOT_INITIALIZED` outside of a group; in `fit`, on every rank, `ERR_CHECKPOINT` for a model that
 * could not be saved
 */
export function modelCheckpoint(
  model: SavableModel,
  target: object | string | ((epoch: number) => object | string),
  options: ModelCheckpointOptions = {},
): FitCallback {
  requireOptions('modelCheckpoint', options, optionNames);
  const { every = 1, includeOptimizer = true, processGroup } = options;
  const group = requireGroup('modelCheckpoint', processGroup);
  if (!Number.isSafeInteger(every) || every < 1) {
    throw new TfjsError(
      'ERR_ARGUMENT',
      `modelCheckpoint: every must be a number of epochs from 1, got ${every}.`,
    );
  }
  return callback({
    async onEpochEnd(epoch) {
      if ((epoch + 1) % every !== 0) return;
      const place = typeof target === 'function' ? (target as (epoch: number) => unknown)(epoch) : target;
      const save = () => model.save(place as never, { includeOptimizer });
      const [problem] = await group.broadcastObject(group.rank === 0 ? await problemOf(save) : []);
      if (problem === undefined) return;
      throw new TfjsError(
        'ERR_CHECKPOINT',
        `rank 0 could not save the model at the end of epoch ${epoch + 1}: ${problem}`,
      );
    },
  });
}

/** In words; none where it goes well. */
async function problemOf(save: () => Promise<unknown>): Promise<[] | [string]> {
  try {
    await save();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
