import { createRequire } from 'node:module';

/** Logs of a batch or an epoch by name: numbers, or tf scalars. */
export type Logs = Record<string, unknown>;

/** A callback for `model.fit` and `model.fitDataset` (tf.CustomCallbackArgs). */
export interface FitCallback {
  /** Called once before the first epoch. */
  onTrainBegin?(logs?: Logs): Promise<void>;
  /** Called before each epoch, counted from 0. */
  onEpochBegin?(epoch: number, logs?: Logs): Promise<void>;
  /** Called after each epoch, counted from 0; `logs` has the epoch's metrics. */
  onEpochEnd?(epoch: number, logs?: Logs): Promise<void>;
  /** Called before each batch, counted from 0 within the epoch. */
  onBatchBegin?(batch: number, logs?: Logs): Promise<void>;
  /** Called after each batch, counted from 0 within the epoch; `logs` has the batch's metrics. */
  onBatchEnd?(batch: number, logs?: Logs): Promise<void>;
}

/**
 * Creates a callback that works anywhere in a list, even before tf.callbacks.earlyStopping(). tf wraps every callback
 * (which breaks its own) unless the first is an instance of tf.Callback, so this one extends that class if it is loaded.
 */
export function callback(methods: FitCallback): FitCallback {
  const base = callbackClass();
  return Object.assign(base === undefined ? {} : new base(), methods);
}

type CallbackClass = new () => object;

const require = createRequire(import.meta.url);

/** tf.Callback of the loaded package: all three packages share one @tensorflow/tfjs-layers. */
function callbackClass(): CallbackClass | undefined {
  for (const name of ['@tensorflow/tfjs', '@tensorflow/tfjs-node', '@tensorflow/tfjs-node-gpu']) {
    const loaded = require.cache[pathOf(name) ?? '']?.exports as { Callback?: CallbackClass } | undefined;
    if (loaded?.Callback !== undefined) return loaded.Callback;
  }
  return undefined;
}

function pathOf(name: string): string | undefined {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
}
