import { createRequire } from 'node:module';

/** Of a batch or an epoch, by name: numbers, or scalars that hold them. */
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
 * Makes a callback that may stand anywhere in a list, also before tf.callbacks.earlyStopping(). tf takes a list as it is only where the first is of its own class, and otherwise
 * wraps each, which its own do not survive; so this is of its class, wherever that is found.
 */
export function callback(methods: FitCallback): FitCallback {
  const base = callbackClass();
  return Object.assign(base === undefined ? {} : new base(), methods);
}

type CallbackClass = new () => object;

const require = createRequire(import.meta.url);

/** tf.Callback of the package that is loaded: the three share one @tensorflow/tfjs-layers. */
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
