import {
  givenLocation,
  type OptionNames,
  requireChoice,
  requireInteger,
  requireOptions,
} from '@ringrun/core';
import { encodeSafetensors, openStorage } from 'ringrun';
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
  /** Also write the model of each validation to `last.safetensors`, or to the folder `last`. Default: false. */
  saveLast?: boolean;
  /**
   * False: write whole checkpoints instead of models, from which a training resumes with the option `resume` of the Trainer
   * (Lightning: save_weights_only). Default: true.
   */
  weightsOnly?: boolean;
}

const optionNames: OptionNames<ModelCheckpointOptions> = {
  dir: true,
  monitor: true,
  mode: true,
  saveTopK: true,
  saveLast: true,
  weightsOnly: true,
};

/** A model that is kept. */
export interface SavedModel {
  /** Name in the folder, of a file or of a folder with a checkpoint. */
  name: string;
  /** The metric; of a later model higher, without `monitor`. */
  score: number;
}

/** What is written when the training may be saved. */
interface Due {
  readonly names: readonly string[];
  readonly dropped: readonly string[];
}

/**
 * Writes the best models of a training after each validation (Lightning: ModelCheckpoint), as `epoch=3-step=400.safetensors`:
 * `model.loadStateDict(await loadSafetensors(path))`.
 *
 * With `weightsOnly: false`, the folder `epoch=3-step=400` has a checkpoint of `Checkpointer` with models, optimizers, schedulers,
 * callbacks and the position in the data: `new Trainer({ resume: best.bestModelPath })` continues there, bit-identical to an
 * uninterrupted training on the same number of ranks. It is written after the epoch whose end was validated, or after the validation
 * within an epoch. To save a training regularly, use the option `checkpoint` of the Trainer.
 */
export class ModelCheckpoint implements Callback {
  /** Name of the metric. */
  readonly monitor: string | undefined;
  readonly #location: string;
  readonly #settings: Required<Omit<ModelCheckpointOptions, 'monitor' | 'dir'>>;
  /** The best first. */
  #kept: SavedModel[] = [];
  #due: Due | undefined;

  /** @throws InvalidArgumentError for an unknown option or mode, a place that is no folder or bucket, or `saveTopK` below -1 */
  constructor(options: ModelCheckpointOptions) {
    const who = 'ModelCheckpoint';
    requireOptions(who, options, optionNames);
    const { dir, monitor, mode = 'min', saveTopK = 1, saveLast = false, weightsOnly = true } = options;
    requireChoice(who, 'mode', mode, ['min', 'max']);
    requireInteger(saveTopK, { who, what: 'saveTopK', min: -1 });
    this.monitor = monitor;
    this.#location = openStorage(givenLocation(dir, `${who}: dir`)).location;
    this.#settings = { mode: monitor === undefined ? 'max' : mode, saveTopK, saveLast, weightsOnly };
  }

  /** Path of the best model, or of the folder of its checkpoint; undefined before the first one (Lightning: best_model_path). */
  get bestModelPath(): string | undefined {
    const best = this.#kept.at(0);
    return best && `${this.#location}/${best.name}`;
  }

  /** The metric of the best model (Lightning: best_model_score). */
  get bestModelScore(): number | undefined {
    return this.monitor === undefined ? undefined : this.#kept.at(0)?.score;
  }

  /**
   * Writes the model on rank 0 if it is one of the best, and deletes the one that is no longer. With `weightsOnly: false`,
   * `onCheckpoint` does so.
   */
  async onValidationEnd(training: TrainingContext, metrics: MetricsByName): Promise<void> {
    const { globalStep, currentEpoch, isGlobalZero } = training;
    const { mode, saveTopK, saveLast, weightsOnly } = this.#settings;
    const score =
      this.monitor === undefined ? globalStep : monitored('ModelCheckpoint', metrics, this.monitor);
    const extension = weightsOnly ? '.safetensors' : '';
    const name = `epoch=${currentEpoch}-step=${globalStep}${extension}`;
    const others = this.#kept.filter((one) => one.name !== name);
    const better = others.filter((one) => !isBetter(score, one.score, mode)).length;
    const isKept = !Number.isNaN(score) && (saveTopK === -1 || better < saveTopK);
    const kept = isKept ? [...others.slice(0, better), { name, score }, ...others.slice(better)] : others;
    const most = saveTopK === -1 ? kept.length : saveTopK;
    const dropped = kept.slice(most);
    this.#kept = kept.slice(0, most);
    const names = [...(isKept ? [name] : []), ...(saveLast ? [`last${extension}`] : [])];
    if (!weightsOnly) {
      // The position in the training is between two steps only later.
      this.#due = { names, dropped: dropped.map((one) => one.name) };
      return;
    }
    if (!isGlobalZero || names.length === 0) return;
    const storage = openStorage(this.#location);
    const bytes = encodeSafetensors(stateOf(training));
    for (const one of names) await storage.write(one, bytes);
    for (const one of dropped) await storage.delete(one.name);
  }

  /** Writes the checkpoint of the last validation, with `weightsOnly: false`. A collective. */
  async onCheckpoint(training: TrainingContext): Promise<void> {
    const due = this.#due;
    this.#due = undefined;
    if (due === undefined) return;
    for (const name of due.names) await training.saveCheckpoint(`${this.#location}/${name}`);
    if (!training.isGlobalZero) return;
    const storage = openStorage(this.#location);
    for (const name of due.dropped) await storage.deleteFolder(name);
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
