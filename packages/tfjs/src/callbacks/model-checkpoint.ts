import type { ProcessGroup } from '@ringrun/core';
import { TfjsError } from '../errors.ts';
import { requireGroup } from '../ringrun.ts';
import { callback, type FitCallback } from './callback.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** The part of tf.LayersModel that saving needs. */
export interface SavableModel {
  /** tf.LayersModel.save. */
  save(target: never, config?: { includeOptimizer?: boolean }): Promise<unknown>;
}

/** Options of {@link modelCheckpoint}. */
export interface ModelCheckpointOptions {
  /** Epochs between checkpoints. Default: 1. */
  every?: number;
  /** If true, saves the optimizer's state too, which resuming needs. Default: true. */
  includeOptimizer?: boolean;
  /** The ranks that train together. Default: the default group. */
  processGroup?: ProcessGroup;
}

const optionNames: OptionNames<ModelCheckpointOptions> = {
  every: true,
  includeOptimizer: true,
  processGroup: true,
};

/**
 * Saves the model at the end of epochs, on rank 0. The other ranks wait; if saving fails, all ranks throw.
 *
 * @param target an argument of `model.save`, such as `folder('runs/1')` or, with tfjs-node, `'file://runs/1'`; or a
 *   function that returns one for an epoch (from 0)
 * @throws TfjsError `ERR_ARGUMENT` for an invalid `every`; `ERR_NOT_INITIALIZED` without a process group; in `fit`, on
 *   every rank, `ERR_CHECKPOINT` if the model could not be saved
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

/** The error's message, if saving fails. */
async function problemOf(save: () => Promise<unknown>): Promise<[] | [string]> {
  try {
    await save();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
