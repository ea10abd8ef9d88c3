import { nn, optim } from '@ringrun/nn';
import { Checkpointer, type ProcessGroup, type Resumed } from 'ringrun';
import type { Logger } from '../loggers/logger.ts';
import { currentGroup } from '../metrics/state.ts';
import { evaluateModels } from './evaluate.ts';
import { FitLoop } from './fit-loop.ts';
import type { EvaluateOptions, FitOptions, FitResult, Models } from './fit-options.ts';
import { WrappedModels, isWrapper } from './models.ts';
import { openReport, outputOf, sharingProblem } from './report.ts';
import { restoreCallbacks, resumeLoggers, type SavedState } from './saved-state.ts';
import { Schedulers } from './schedulers.ts';
import {
  SharedTraining,
  requireRecoverableFit,
  requireRecoverableOptions,
  type SharedState,
} from './shared-training.ts';
import { trainBatchOf } from './step.ts';
import { requireTrainerOptions, type TrainerOptions } from './trainer-options.ts';

/**
 * A training loop (Lightning: Trainer): steps, validation, schedulers, callbacks, checkpoints, preemption, and the training report.
 *
 * ```ts
 * const trainer = new Trainer({ maxEpochs: 3, checkpoint: { dir: 'checkpoints' }, resume: 'auto' });
 * await trainer.fit(model, { trainLoader, validationLoader, loss: F.crossEntropy, optimizer, metrics: { accuracy } });
 * ```
 *
 * Every rank makes the same calls. If a process group exists, the model is wrapped in DistributedDataParallel. A resumed training
 * produces bit-identical parameters to an uninterrupted one on the same number of ranks, at checkpoints after an epoch or between
 * optimizer steps.
 */
export class Trainer {
  readonly #options: TrainerOptions;

  /** @throws InvalidArgumentError for an unknown option, a number out of range, or `resume: 'auto'` without `checkpoint` */
  constructor(options: TrainerOptions = {}) {
    requireTrainerOptions(options);
    requireRecoverableOptions(options);
    this.#options = options;
  }

  /**
   * Trains a model. A collective. Resolves after the last step, when checkpoints and logs are written. The model is in training mode
   * afterwards.
   *
   * @param model a module of `@ringrun/nn`, a DistributedDataParallel, or several modules by name for a `trainingStep`
   * @param options data, loss, optimizer, and what else belongs to the model
   * @throws InvalidArgumentError for options that do not fit each other; errors of the step, of the data, of callbacks and of checkpoints
   */
  async fit<M extends Models, Batch, ValidationBatch = Batch>(
    model: M | { readonly module: M },
    options: FitOptions<M, Batch, ValidationBatch>,
  ): Promise<FitResult> {
    const fit = options as unknown as FitOptions<Models, unknown>;
    const [settings, group] = [this.#options, this.#group];
    const { callbacks = [], validationName = 'val', checkpoint } = settings;
    const loggers = this.#loggers;
    const canRecover = settings.faultTolerance === 'shrink';
    if (canRecover) requireRecoverable(model, fit);
    const models = new WrappedModels(model, group, settings);
    const optimizers = byName(fit.optimizer);
    const schedulers = new Schedulers(fit.scheduler, `${validationName}/loss`);
    const trainBatch = trainBatchOf(models, fit, optimizers, settings);
    const problem = sharingProblem(fit.trainLoader, group);
    if (problem !== undefined && (group?.rank ?? 0) === 0) process.stderr.write(`ringrun: ${problem}\n`);

    const registered = { models, optimizers, schedulers, loader: fit.trainLoader };
    const checkpointerAt = (dir: string | URL, keep?: number) => {
      const opened = new Checkpointer({
        dir,
        ...(keep !== undefined && { keep }),
        // With recovery, the group that is current at a save.
        ...(group && !canRecover && { processGroup: group }),
      });
      register(opened, registered);
      return opened;
    };
    // Without `checkpoint`, a training may resume from a path, but is not saved.
    const dir = checkpoint?.dir ?? settings.resume;
    const checkpoints = dir === undefined ? undefined : checkpointerAt(dir, checkpoint?.keep);
    const shared = new SharedTraining();
    const objects = { ...registeredOptimizers(optimizers), ...schedulers.registered, trainer: shared };
    const start = (await models.shareState(objects))
      ? joinedAt(shared.received!, fit.trainLoader)
      : await models.retry(() => resumedAt(checkpoints, settings, models.group));
    restoreCallbacks(callbacks, start.callbacks);
    if (start.globalStep > 0 || start.epoch > 0) resumeLoggers(loggers, start.globalStep, start.loggers);
    const { batches, batchesBefore } = start;
    const report = await openReport(settings, fit.trainLoader, {
      group: models.group,
      batchesBefore: batchesBefore + batches,
    });
    const loop = new FitLoop({
      options: settings,
      fit,
      models,
      optimizers,
      schedulers,
      trainBatch,
      checkpoints: checkpoint && checkpoints,
      checkpointerAt: (folder) => checkpointerAt(folder, 1),
      report,
      callbacks,
      loggers,
      shared,
      start,
    });
    return await loop.run();
  }

  /**
   * Evaluates a model on the shares of all ranks (Lightning: Trainer.validate, Trainer.test). A collective. The model is in evaluation
   * mode meanwhile.
   *
   * @returns the metrics by name, and the mean loss over all samples as `loss`; the same on all ranks
   */
  async evaluate<M extends Models, Batch>(
    model: M | { readonly module: M },
    options: EvaluateOptions<M, Batch>,
  ): Promise<Record<string, unknown>> {
    const given = options as unknown as EvaluateOptions<Models, unknown>;
    const group = this.#group;
    const models = new WrappedModels(model, group, undefined);
    return await evaluateModels(models, given, this.#options);
  }

  get #group(): ProcessGroup | undefined {
    return this.#options.processGroup ?? currentGroup();
  }

  get #loggers(): readonly Logger[] {
    const { logger = [] } = this.#options;
    return Array.isArray(logger) ? (logger as readonly Logger[]) : [logger as Logger];
  }
}

/** What a checkpoint contains. */
interface Trained {
  readonly models: WrappedModels;
  readonly optimizers: Readonly<Record<string, optim.Optimizer>>;
  readonly schedulers: Schedulers;
  readonly loader: object;
}

function register(checkpoints: Checkpointer, { models, optimizers, schedulers, loader }: Trained): void {
  const { ofRanks } = models;
  const isLocal = Object.keys(ofRanks).length > 0;
  checkpoints.register({
    ...models.registered,
    ...(!isLocal && registeredOptimizers(optimizers)),
    ...schedulers.registered,
    ...('loadStateDict' in loader && { loader }),
  });
  if (isLocal) checkpoints.register({ ...ofRanks, ...registeredOptimizers(optimizers) }, { perRank: true });
}

function byName(
  optimizer: FitOptions<Models, unknown>['optimizer'],
): Readonly<Record<string, optim.Optimizer>> {
  return optimizer instanceof optim.Optimizer ? { optimizer } : optimizer;
}

function registeredOptimizers(
  optimizers: Readonly<Record<string, optim.Optimizer>>,
): Readonly<Record<string, optim.Optimizer>> {
  const entries = Object.entries(optimizers);
  if (entries.length === 1) return optimizers;
  return Object.fromEntries(entries.map(([name, one]) => [`optimizer_${name}`, one]));
}

/** @throws InvalidArgumentError for a training that does not continue when ranks die */
function requireRecoverable(
  model: Models | { readonly module: Models },
  fit: FitOptions<Models, unknown>,
): void {
  const isOne = model instanceof nn.Module || isWrapper(model);
  const all = isOne ? [model] : Object.values(model);
  requireRecoverableFit(fit, all.length, all.some(isWrapper));
}

/** Where a training begins or continues. */
type Start = SavedState & { readonly globalStep: number; readonly epoch: number };

/** The position of the running training that this process has joined. */
function joinedAt({ globalStep, epoch, trainer, loader }: SharedState, own: object): Start {
  if (loader !== undefined && 'loadStateDict' in own)
    (own as { loadStateDict(state: unknown): void }).loadStateDict(loader);
  return { ...trainer, globalStep, epoch };
}

/** Loads the checkpoint of `resume`, if there is one. A collective. */
async function resumedAt(
  checkpoints: Checkpointer | undefined,
  settings: TrainerOptions,
  group: ProcessGroup | undefined,
): Promise<Start> {
  const resumed = await checkpoints?.resume(settings.resume);
  if (resumed === undefined) return { ...newState, globalStep: 0, epoch: 0 };
  const { path, step, epoch } = resumed;
  if ((group?.rank ?? 0) === 0)
    outputOf(settings).write(`resumed from ${path}: step ${step}, epoch ${epoch + 1}\n`);
  return { ...stateOf(resumed, group?.size ?? 1), globalStep: step, epoch };
}

const newState: SavedState = { batches: 0, samples: 0, batchesBefore: 0, callbacks: {}, loggers: {} };

/** The state of the Trainer; of another number of ranks, its batches are as many samples. */
function stateOf({ values, worldSize }: Resumed, ranks: number): SavedState {
  const saved = values['trainer'] as SavedState | undefined;
  const state = saved ?? newState;
  const scaled = (count: number) => Math.round((count * worldSize) / ranks);
  return {
    ...state,
    batches: scaled(state.batches),
    samples: scaled(state.samples),
    batchesBefore: scaled(state.batchesBefore),
  };
}
