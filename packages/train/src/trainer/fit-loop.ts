import { InvalidArgumentError } from '@ringrun/core';
import { ReduceOp, allReduce, onPreemption, type Checkpointer } from 'ringrun';
import type { TrainingReport } from 'ringrun';
import type { optim } from '@ringrun/nn';
import {
  callAll,
  type Callback,
  type Hook,
  type MetricsByName,
  type TrainingContext,
} from '../callbacks/callback.ts';
import type { Logger, Outcome } from '../loggers/logger.ts';
import { TensorBoardLogger } from '../loggers/tensor-board-logger.ts';
import { samplesIn } from './batch.ts';
import { evaluateModels } from './evaluate.ts';
import type { FitOptions, FitResult, Models } from './fit-options.ts';
import type { WrappedModels } from './models.ts';
import { defaultEpochs, outputOf } from './report.ts';
import { statesOf, type SavedState } from './saved-state.ts';
import type { Schedulers } from './schedulers.ts';
import type { SharedState, SharedTraining } from './shared-training.ts';
import type { TrainBatch } from './step.ts';
import type { TrainerOptions } from './trainer-options.ts';
import { TrainingSums, numberOf } from './training-sums.ts';

/** The parts of a training that is about to start. */
export interface FitParts {
  readonly options: TrainerOptions;
  readonly fit: FitOptions<Models, unknown>;
  readonly models: WrappedModels;
  readonly optimizers: Readonly<Record<string, optim.Optimizer>>;
  readonly schedulers: Schedulers;
  readonly trainBatch: TrainBatch;
  readonly checkpoints: Checkpointer | undefined;
  /** Opens a folder for the same objects, with one checkpoint. */
  readonly checkpointerAt: (dir: string | URL) => Checkpointer;
  readonly report: TrainingReport;
  readonly callbacks: readonly Callback[];
  readonly loggers: readonly Logger[];
  readonly shared: SharedTraining;
  /** Where the training begins, or continues. */
  readonly start: Readonly<Pick<SavedState, 'batches' | 'samples' | 'batchesBefore'>> & {
    readonly globalStep: number;
    readonly epoch: number;
  };
}

/** Milliseconds in which loggers end after a signal; the grace period is running. */
const preemptedCloseMs = 5000;

/** A training from its first to its last step. */
export class FitLoop implements TrainingContext {
  globalStep: number;
  currentEpoch: number;
  metrics: MetricsByName = {};
  shouldStop = false;
  readonly report: TrainingReport;
  readonly #parts: FitParts;
  readonly #sums = new TrainingSums();
  readonly #sumsLosses: boolean;
  /** Of this epoch. */
  #batches: number;
  #samples: number;
  /** Of earlier epochs. */
  #batchesBefore: number;
  #validation: Readonly<Record<string, unknown>> | undefined;
  /** Step of the last validation. */
  #validatedAt: number | undefined;
  #stoppedEarly = false;
  /** Between two steps, with the counts of all that is done. */
  #maySave = false;
  /** With recovery: the state of the loader before the batch of the running step. */
  #loaderState: unknown;

  constructor(parts: FitParts) {
    this.#parts = parts;
    this.report = parts.report;
    const { start, schedulers, callbacks, loggers } = parts;
    [this.globalStep, this.currentEpoch] = [start.globalStep, start.epoch];
    [this.#batches, this.#samples, this.#batchesBefore] = [start.batches, start.samples, start.batchesBefore];
    if (parts.shared.received) this.metrics = parts.shared.received.metrics;
    parts.shared.source = () => this.#sharedState;
    this.#sumsLosses =
      loggers.length > 0 ||
      callbacks.some(({ monitor = '' }) => monitor.startsWith('train/')) ||
      schedulers.monitors('train/loss');
  }

  get modules(): TrainingContext['modules'] {
    return this.#parts.models.modules;
  }

  get optimizers(): TrainingContext['optimizers'] {
    return this.#parts.optimizers;
  }

  get isGlobalZero(): boolean {
    return (this.#parts.models.group?.rank ?? 0) === 0;
  }

  /** A property, so that callbacks may take it out of their argument. */
  readonly log = (line: string): void => {
    if (this.isGlobalZero) outputOf(this.#parts.options).write(`${line}\n`);
  };

  async run(): Promise<FitResult> {
    const { checkpoints, options, models } = this.#parts;
    const stopListening = onPreemption(() => this.#closeLoggers('preempted', preemptedCloseMs));
    try {
      models.train();
      if (options.hyperparameters)
        for (const logger of this.#ownLoggers) logger.logHyperparameters(options.hyperparameters);
      await this.#call('onFitStart');
      while (!this.#isDone) await this.#epoch();
      // Stopped early.
      await models.synchronize();
      await models.retry(async () => await checkpoints?.finished());
      await this.#call('onFitEnd');
      await models.retry(() => this.report.end());
    } catch (error) {
      await callAll(this.#parts.callbacks, 'onException', this, error);
      await this.#closeLoggers('failed', preemptedCloseMs);
      throw error;
    } finally {
      stopListening();
    }
    await this.#closeLoggers('finished');
    return {
      globalStep: this.globalStep,
      epochs: this.currentEpoch,
      validation: this.#validation,
      stoppedEarly: this.#stoppedEarly,
    };
  }

  get #isDone(): boolean {
    return this.#stoppedEarly || this.currentEpoch >= this.#epochs || this.#hasAllSteps;
  }

  get #epochs(): number {
    const { maxEpochs, maxSteps } = this.#parts.options;
    return maxEpochs ?? (maxSteps === undefined ? defaultEpochs : Infinity);
  }

  get #hasAllSteps(): boolean {
    return this.globalStep >= (this.#parts.options.maxSteps ?? Infinity);
  }

  /** Number of batches after which the training has all steps. */
  get #lastBatch(): number {
    const { maxSteps = Infinity, accumulateGradBatches: passes = 1 } = this.#parts.options;
    return this.#batches + (maxSteps - this.globalStep) * passes;
  }

  /** The loggers of the rank that logs. */
  get #ownLoggers(): readonly Logger[] {
    return this.isGlobalZero ? this.#parts.loggers : [];
  }

  async #epoch(): Promise<void> {
    const { trainLoader, validationLoader } = this.#parts.fit;
    const { checkValEveryNEpoch = 1, valCheckInterval } = this.#parts.options;
    setEpoch(trainLoader, this.currentEpoch);
    await this.#call('onEpochStart');
    await this.#trainEpoch(trainLoader.length);
    if (this.#sumsLosses) {
      const means = await this.#parts.models.retry((group) => this.#sums.means(group));
      this.metrics = { ...this.metrics, ...means };
    }
    const isWhole = this.#batches >= trainLoader.length;
    if (this.#hasAllSteps || (isWhole && this.currentEpoch + 1 >= this.#epochs))
      await this.#parts.models.synchronize();
    const isDue = valCheckInterval === undefined && (this.currentEpoch + 1) % checkValEveryNEpoch === 0;
    if (validationLoader && (isDue || this.#hasAllSteps)) await this.#validate();
    if (isWhole) this.#parts.schedulers.step('epoch', this.currentEpoch + 1, this.metrics);
    await this.#call('onEpochEnd');
    this.#stoppedEarly ||= await this.#agreesToStop();
    if (isWhole) {
      this.#batchesBefore += this.#batches;
      [this.#batches, this.#samples] = [0, 0];
      this.currentEpoch += 1;
    }
    await this.#callToSave();
    await this.#save();
  }

  async #trainEpoch(length: number): Promise<void> {
    const { fit, trainBatch, options, schedulers, checkpoints, report } = this.#parts;
    const { accumulateGradBatches: passes = 1, valCheckInterval, checkpoint } = options;
    const before = { steps: this.#batches, samples: this.#samples };
    const loader = partOf(fit.trainLoader, this.#batches, this.#lastBatch);
    this.#recordPosition();
    for await (const batch of report.epoch(this.currentEpoch + 1, loader, before)) {
      const batchIndex = this.#batches;
      const isLast = batchIndex + 1 === length;
      const begins = batchIndex % passes === 0;
      const ends = (batchIndex + 1) % passes === 0 || isLast;
      const { globalStep, currentEpoch } = this;
      const losses = await trainBatch(batch, { globalStep, currentEpoch, batchIndex, begins, ends });
      const samples = samplesIn(batch);
      this.#batches += 1;
      this.#samples += samples;
      this.#recordPosition();
      const [loss = NaN] = Object.values(losses);
      const lr = Object.values(this.optimizers)[0].paramGroups[0].lr;
      await report.step({ loss, samples, lr });
      if (ends) {
        this.globalStep += 1;
        await this.#parts.models.step();
        schedulers.step('step', this.globalStep, this.metrics);
      }
      if (this.#sumsLosses) await this.#sums.add(losses, samples);
      await this.#logBatch(batchIndex, losses, lr);
      await callAll(this.#parts.callbacks, 'onTrainBatchEnd', this, { batch, samples, loss, batchIndex });
      if (!ends) continue;
      if (valCheckInterval !== undefined && this.globalStep % valCheckInterval === 0) {
        await this.#validate();
        this.#stoppedEarly ||= await this.#agreesToStop();
      }
      if (this.#stoppedEarly || this.#hasAllSteps) return;
      if (isLast) continue; // Saved after the validation.
      if (this.#validatedAt === this.globalStep) await this.#callToSave();
      if (this.globalStep % (checkpoint?.everyNTrainSteps ?? Infinity) === 0) await this.#save();
      // With recovery, a rank that receives a signal dies, and the others continue.
      if (!this.#parts.models.isRecovering) await checkpoints?.saveIfPreempted(this.#progress);
    }
  }

  async #logBatch(
    batchIndex: number,
    losses: Readonly<Record<string, number | { item(): Promise<number> }>>,
    lr: number,
  ): Promise<void> {
    const { logEveryNSteps = 50 } = this.#parts.options;
    if (batchIndex % logEveryNSteps !== 0 || this.#ownLoggers.length === 0) return;
    const values: Record<string, number> = { 'train/learning_rate': lr };
    for (const [name, loss] of Object.entries(losses))
      values[`train/${name}`] = await numberOf(loss as Parameters<typeof numberOf>[0]);
    for (const logger of this.#ownLoggers) logger.logMetrics(values, this.globalStep);
  }

  async #validate(): Promise<void> {
    const { fit, models, options } = this.#parts;
    const { validationLoader: loader } = fit;
    if (loader === undefined || this.#validatedAt === this.globalStep) return;
    this.#validatedAt = this.globalStep;
    await this.#call('onValidationStart');
    const values = await models.withGlobalParameters(() =>
      evaluateModels(models, { ...fit, loader }, options),
    );
    this.#validation = values;
    const { validationName = 'val' } = options;
    const named = Object.entries(values).map(
      ([name, value]) => [`${validationName}/${name}`, value] as const,
    );
    const metrics = Object.fromEntries(named);
    this.metrics = { ...this.metrics, ...metrics };
    this.#show(values, metrics);
    await callAll(this.#parts.callbacks, 'onValidationEnd', this, this.metrics);
  }

  /** Prints a line in the format of Kubeflow's examples, which Katib parses, and passes the values on. */
  #show(values: Readonly<Record<string, unknown>>, metrics: Readonly<Record<string, unknown>>): void {
    const numbers = Object.entries(metrics).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    );
    const texts = Object.entries(values)
      .filter((entry): entry is [string, number] => typeof entry[1] === 'number')
      .map(([name, value]) => `${name}=${value.toFixed(4)}`);
    this.log(`\n${texts.join('\t')}\n`);
    for (const logger of this.#ownLoggers) logger.logMetrics(Object.fromEntries(numbers), this.globalStep);
    // A TensorBoardLogger has passed them to the dashboard already.
    if (this.#ownLoggers.some((logger) => logger instanceof TensorBoardLogger)) return;
    for (const [name, value] of numbers) this.report.addScalar(name, value, this.globalStep);
  }

  /** Whether a rank wants to stop. A collective. */
  async #agreesToStop(): Promise<boolean> {
    return await this.#parts.models.retry(async (group) => {
      if (group === undefined || group.size === 1) return this.shouldStop;
      const wish = Int32Array.of(Number(this.shouldStop));
      await allReduce(wish, { group, op: ReduceOp.MAX });
      return wish[0] === 1;
    });
  }

  #recordPosition(): void {
    const { fit, models } = this.#parts;
    const { trainLoader } = fit;
    if (models.isRecovering && 'loadStateDict' in trainLoader)
      this.#loaderState = (trainLoader as unknown as { stateDict(): unknown }).stateDict();
  }

  get #sharedState(): SharedState {
    const { step, epoch, values } = this.#progress;
    const loader = this.#loaderState;
    const numbers = Object.entries(this.metrics).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    );
    const metrics = Object.fromEntries(numbers);
    return { globalStep: step, epoch, ...values, metrics, ...(loader !== undefined && { loader }) };
  }

  get #progress() {
    const trainer: SavedState = {
      batches: this.#batches,
      samples: this.#samples,
      batchesBefore: this.#batchesBefore,
      callbacks: statesOf(this.#parts.callbacks),
      loggers: statesOf(this.#parts.loggers),
    };
    return { step: this.globalStep, epoch: this.currentEpoch, values: { trainer } };
  }

  async saveCheckpoint(dir: string | URL): Promise<void> {
    if (!this.#maySave) {
      throw new InvalidArgumentError(
        'Trainer: saveCheckpoint: expected a call in onCheckpoint, got one elsewhere, where the position in the training is not complete. Call it in onCheckpoint.',
      );
    }
    const checkpoints = this.#parts.checkpointerAt(dir);
    await this.#parts.models.retry(async () => {
      await checkpoints.save(this.#progress);
      await checkpoints.finished();
    });
  }

  async #callToSave(): Promise<void> {
    this.#maySave = true;
    try {
      await this.#call('onCheckpoint');
    } finally {
      this.#maySave = false;
    }
  }

  async #save(): Promise<void> {
    const { checkpoints } = this.#parts;
    if (checkpoints === undefined) return;
    await this.#parts.models.retry(() => checkpoints.save(this.#progress));
    await this.#call('onSave');
  }

  async #call(hook: Exclude<Hook, 'onTrainBatchEnd' | 'onValidationEnd' | 'onException'>): Promise<void> {
    await callAll(this.#parts.callbacks, hook, this);
  }

  /** Ends the loggers; after `limitMs` without waiting for them any longer. */
  async #closeLoggers(outcome: Outcome, limitMs?: number): Promise<void> {
    const closing = Promise.allSettled(this.#parts.loggers.map((logger) => logger.close(outcome)));
    if (limitMs === undefined) {
      await closing;
      return;
    }
    const limit = new Promise<void>((resolve) => {
      setTimeout(resolve, limitMs).unref();
    });
    await Promise.race([closing, limit]);
  }
}

/** Loaders of ringrun shuffle by epoch. */
function setEpoch(loader: object, epoch: number): void {
  const { dataset } = loader as { readonly dataset?: object };
  const sampler =
    dataset === undefined || 'iterate' in dataset ? loader : (loader as { sampler?: object }).sampler;
  if (sampler !== undefined && 'setEpoch' in sampler)
    (sampler as { setEpoch(epoch: number): void }).setEpoch(epoch);
}

/**
 * The loader without the batches that a resumed training had, which a loader with a state leaves out itself. Its length, of
 * which the progress is a fraction, is at most `last`.
 */
function partOf(
  loader: FitOptions<Models, unknown>['trainLoader'],
  batches: number,
  last: number,
): FitOptions<Models, unknown>['trainLoader'] {
  const skips = 'loadStateDict' in loader ? 0 : batches;
  if (skips === 0 && loader.length <= last) return loader;
  return {
    length: Math.min(loader.length, last),
    async *[Symbol.asyncIterator]() {
      let skipped = 0;
      for await (const batch of loader) {
        if (skipped < skips) skipped += 1;
        else yield batch;
      }
    },
  };
}
