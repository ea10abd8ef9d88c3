import { givenLocation, requireInteger, requireOptions, type OptionNames } from '@ringrun/core';
import { encodeSafetensors, openStorage } from 'ringrun';
import { requireChoice } from '../metrics/classification/task.ts';
import type { Callback, MetricsByName, TrainingContext } from './callback.ts';
import { isBetter, monitored, type Mode } from './monitored.ts';

/** Options of {@link ModelCheckpoint}. */
export interface ModelCheckpointOptions {
  /** A folder or `s3://bucket/prefix`. */
  dir: string | URL;
  /** Name of the metric, such as `val/accuracy`. Default: none, and the newest models are kept. */
  monitor?: string;
  /** Whether a lower or a higher value is better. Default: 'min'. */
  mode?: Mode;
  /** Number of best models to keep; -1: all, 0: none. Default: 1. */
  saveTopK?: number;
  /** Also write the model of each validation to `last.safetensors`. Default: false. */
  saveLast?: boolean;
}

const optionNames: OptionNames<ModelCheckpointOptions> = {
  dir: true,
  monitor: true,
  mode: true,
  saveTopK: true,
  saveLast: true,
};

/** A model that is kept. */
export interface SavedModel {
  /** Name of the file in the folder. */
  name: string;
  /** The metric; of a later model higher, without `monitor`. */
  score: number;
}

/**
 * Writes the best models of a training after each validation (Lightning: ModelCheckpoint with save_weights_only), as
 * `epoch=3-step=400.safetensors`: `model.loadStateDict(await loadSafetensors(path))`. To resume a training, use the option
 * `checkpoint` of the Trainer.
 */
export class ModelCheckpoint implements Callback {
  /** Name of the metric. */
  readonly monitor: string | undefined;
  readonly #location: string;
  readonly #settings: Required<Omit<ModelCheckpointOptions, 'monitor' | 'dir'>>;
  /** The best first. */
  #kept: SavedModel[] = [];

  /** @throws InvalidArgumentError for an unknown option or mode, a place that is no folder or bucket, or `saveTopK` below -1 */
  constructor(options: ModelCheckpointOptions) {
    const who = 'ModelCheckpoint';
    requireOptions(who, options, optionNames);
    const { dir, monitor, mode = 'min', saveTopK = 1, saveLast = false } = options;
    requireChoice(who, 'mode', mode, ['min', 'max']);
    requireInteger(saveTopK, { who, what: 'saveTopK', min: -1 });
    this.monitor = monitor;
    this.#location = openStorage(givenLocation(dir, `${who}: dir`)).location;
    this.#settings = { mode: monitor === undefined ? 'max' : mode, saveTopK, saveLast };
  }

  /** Path of the best model; undefined before the first one (Lightning: best_model_path). */
  get bestModelPath(): string | undefined {
    const best = this.#kept.at(0);
    return best && `${this.#location}/${best.name}`;
  }

  /** The metric of the best model (Lightning: best_model_score). */
  get bestModelScore(): number | undefined {
    return this.monitor === undefined ? undefined : this.#kept.at(0)?.score;
  }

  /** Writes the model on rank 0 if it is one of the best, and deletes the one that is no longer. */
  async onValidationEnd(training: TrainingContext, metrics: MetricsByName): Promise<void> {
    const { globalStep, currentEpoch, isGlobalZero } = training;
    const { mode, saveTopK, saveLast } = this.#settings;
    const score =
      this.monitor === undefined ? globalStep : monitored('ModelCheckpoint', metrics, this.monitor);
    const name = `epoch=${currentEpoch}-step=${globalStep}.safetensors`;
    const others = this.#kept.filter((one) => one.name !== name);
    const better = others.filter((one) => !isBetter(score, one.score, mode)).length;
    const isKept = !Number.isNaN(score) && (saveTopK === -1 || better < saveTopK);
    const kept = isKept ? [...others.slice(0, better), { name, score }, ...others.slice(better)] : others;
    const most = saveTopK === -1 ? kept.length : saveTopK;
    const dropped = kept.slice(most);
    this.#kept = kept.slice(0, most);
    if (!isGlobalZero || (!isKept && !saveLast)) return;
    const storage = openStorage(this.#location);
    const bytes = encodeSafetensors(stateOf(training));
    if (isKept) await storage.write(name, bytes);
    if (saveLast) await storage.write('last.safetensors', bytes);
    for (const one of dropped) await storage.delete(one.name);
  }

  /** The models that are kept. */
  stateDict(): SavedModel[] {
    return this.#kept.map((one) => ({ ...one }));
  }

  /** Restores a state of `stateDict`. */
  loadStateDict(state: readonly SavedModel[]): void {
    this.#kept = state.map((one) => ({ ...one }));
  }
}

/** The state of the model; of several models, with their names before the keys. */
function stateOf({ modules }: TrainingContext): Parameters<typeof encodeSafetensors>[0] {
  const named = Object.entries(modules);
  if (named.length === 1) return named[0][1].stateDict();
  return new Map(
    named.flatMap(([name, module]) =>
      [...module.stateDict()].map(([key, value]) => [`${name}.${key}`, value] as const),
    ),
  );
}
