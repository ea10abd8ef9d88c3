import { createRequire } from 'node:module';

/** Logs of a batch or an epoch by name: numbers, or tf scalars. */
export type Logs = Record<string, unknown>;

/** A callback for `model.fit` and `model.fitDataset` (tf.CustomCallbackArgs). */
export interface FitCallback {
  onTrainBegin?(logs?: Logs): Promise<void>;
  onEpochBegin?(epoch: number, logs?: Logs): Promise<void>;
  onEpochEnd?(epoch: number, logs?: Logs): Promise<void>;
  onBatchBegin?(batch: number, logs?: Logs): Promise<void>;
  onBatchEnd?(batch: number, logs?: Logs): Promise<void>;
}

/**
 * Creates a callback that works anywhere in a list, also before tf.callbacks.earlyStopping(). tf wraps every callback
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
