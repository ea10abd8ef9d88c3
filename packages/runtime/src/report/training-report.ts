import { hostname } from 'node:os';
import { RingrunError, registry, requireInteger, requireOptions } from '@ringrun/core';
import type { Lane, Output, ProcessGroup } from '@ringrun/core';
import type { RankSummary } from '@ringrun/launcher';
import { preemptionListeners } from '../checkpoint/preemption.ts';
import { figuresPublisher, stopPublishingSteps } from './publish-figures.ts';
import { profile, timedInput, type Profiler } from '../profiler/index.ts';
import { writerEvents } from '../tensorboard/events.ts';
import { SummaryWriter } from '../tensorboard/index.ts';
import { requireScalar } from '../tensorboard/values.ts';
import { closingTable } from './closing-table.ts';
import { stopCountingSteps } from './train-job/counted-steps.ts';
import { trainerServerIn } from './train-job/server-variables.ts';
import { reportOptionNames, stepReportNames } from './training-report-options.ts';
import type {
  DoneBefore,
  ModelWithGradients,
  StepReport,
  TrainingReportOptions,
} from './training-report-options.ts';
import type { TrainJobProgress } from './train-job/train-job-progress.ts';
import {
  noProgressDisplay,
  progressDisplayOn,
  type EpochProgress,
  type ProgressDisplay,
} from './progress.ts';

/**
 * Reports on training: progress lines, TensorBoard curves, a trace, and a table at the end. Rank 0 writes;
 * the other ranks only measure. Under a launcher with `--dashboard`, or with log files, every rank also publishes its
 * figures once a second. A collective if `profile` is set. In the pod of a TrainJob
 * (KUBEFLOW_TRAINER_SERVER_URL, …_CA_CERT and …_TOKEN are set), rank 0 also reports to Kubeflow Trainer every
 * 5 s and at the end: loss, epoch, rate and learning rate, and, if `epochs` is set, percentage and remaining
 * time.
 *
 *     const report = await trainingReport({ samples: dataset.length, dir: 'logs' });
 *     for (let epoch = 1; epoch <= epochs; epoch += 1) {
 *       for await (const batch of report.epoch(epoch, loader)) {
 *         …
 *         await optimizer.step();
 *         await report.step({ loss, samples: batch.label.shape[0] });
 *       }
 *     }
 *     await report.end();
 *
 * @throws InvalidArgumentError for invalid counts, and on every rank if rank 0 cannot write the trace; the
 * file system's error on rank 0 if it cannot write to `dir`
 */
export async function trainingReport(options: TrainingReportOptions): Promise<TrainingReport> {
  const who = 'trainingReport';
  requireOptions(who, options, reportOptionNames);
  requireInteger(options.samples, { who, what: 'samples', min: 0 });
  requireInteger(options.logInterval ?? 10, { who, what: 'logInterval', min: 1 });
  requireInteger(options.stepsBefore ?? 0, { who, what: 'stepsBefore', min: 0 });
  const group = options.processGroup ?? registry.defaultGroup;
  const writer = isRank0(group) ? openWriter(options) : undefined;
  const profiler = options.profile === undefined ? undefined : await profile({ path: options.profile });
  const trainJob = isRank0(group) ? await openTrainJobProgress() : undefined;
  stopPublishingSteps();
  return new TrainingReport(options, { group, writer, profiler, trainJob });
}

/** After resuming, or a restart without a checkpoint, earlier files have points of steps that are repeated. */
function openWriter({ dir, stepsBefore = 0 }: TrainingReportOptions): SummaryWriter | undefined {
  if (dir === undefined) return undefined;
  const isAgain = stepsBefore > 0 || Number(process.env['RINGRUN_RESTART_COUNT'] ?? 0) > 0;
  return new SummaryWriter({ logDir: dir, ...(isAgain ? { purgeStep: stepsBefore + 1 } : {}) });
}

/** Returns the progress reporter if this is the pod of a TrainJob that accepts progress reports. */
async function openTrainJobProgress(): Promise<TrainJobProgress | undefined> {
  const server = trainerServerIn(process.env);
  if (server === undefined) return undefined;
  stopCountingSteps();
  const { TrainJobProgress } = await import('./train-job/train-job-progress.ts');
  return new TrainJobProgress(server);
}

interface Parts {
  group: ProcessGroup | undefined;
  writer: SummaryWriter | undefined;
  profiler: Profiler | undefined;
  trainJob: TrainJobProgress | undefined;
}

/** The epoch in progress. */
interface Running {
  readonly number: number;
  /** Number of batches of this rank. */
  readonly of: number;
  readonly startedAt: number;
  readonly before: DoneBefore;
  readonly totals: Readonly<Record<Lane, number>>;
  /** Steps of this epoch that were completed. */
  steps: number;
  /** Of this rank. */
  samples: number;
}

/** A report on training, returned by `trainingReport`. */
export class TrainingReport {
  /** The TensorBoard writer, for histograms and texts; undefined without `dir`, and on ranks other than 0. */
  readonly writer: SummaryWriter | undefined;
  readonly #options: TrainingReportOptions;
  readonly #firstGroup: ProcessGroup | undefined;
  readonly #profiler: Profiler | undefined;
  readonly #trainJob: TrainJobProgress | undefined;
  readonly #output: Output;
  readonly #unit: string;
  readonly #logInterval: number;
  /** Tags of the report's own curves in TensorBoard. The dashboard has these values already. */
  readonly #curves: Readonly<Record<'loss' | 'learningRate' | 'rate' | 'rateOfEpoch', string>>;
  readonly #display: ProgressDisplay;
  readonly #summary: RankSummary;
  #running: Running | undefined;
  /** Time of the last point of the curves, and this rank's samples in the epoch at that time. */
  #lastPoint = { at: 0, samples: 0 };
  /** Of the files; `end` is repeated if a rank dies while it gathers. */
  #closed: Promise<void> | undefined;
  #ended = false;

  /**
   * Called by `trainingReport`.
   *
   * @internal
   */
  constructor(options: TrainingReportOptions, { group, writer, profiler, trainJob }: Parts) {
    const { output = process.stdout, unit = 'samples', logInterval = 10 } = options;
    this.writer = writer;
    this.#options = options;
    this.#firstGroup = group;
    this.#profiler = profiler;
    this.#trainJob = trainJob;
    this.#output = output;
    this.#unit = unit;
    this.#logInterval = logInterval;
    this.#curves = {
      loss: 'train/loss',
      learningRate: 'train/learning_rate',
      rate: `train/${unit}_per_second`,
      rateOfEpoch: `epoch/${unit}_per_second`,
    };
    this.#display = isRank0(group) ? progressDisplayOn(output, { logInterval, unit }) : noProgressDisplay;
    const nothing = { steps: 0, samples: 0, seconds: 0, input: 0, compute: 0, waiting: 0 };
    preemptionListeners.add(this.#onPreemption);
    figuresPublisher?.leaveOut(Object.values(this.#curves));
    this.#summary = { rank: group?.rank ?? 0, host: hostname(), ...nothing };
  }

  /** Number of steps in all epochs, including those before resuming. The x axis of the curves. */
  get steps(): number {
    return (this.#options.stepsBefore ?? 0) + this.#summary.steps + (this.#running?.steps ?? 0);
  }

  /**
   * Iterates over the batches of one epoch and measures the time the loop waits for each.
   *
   * @param number number of the epoch, from 1
   * @param loader its `length` is the number of batches
   * @param before progress within the epoch if the loader resumes mid-epoch
   * @throws RingrunError `ERR_EPOCH_UNDER_WAY` inside another epoch
   */
  async *epoch<Batch>(
    number: number,
    loader: { readonly length: number } & (Iterable<Batch> | AsyncIterable<Batch>),
    before: DoneBefore = { steps: 0, samples: 0 },
  ): AsyncGenerator<Batch, void> {
    if (this.#running !== undefined) {
      throw new RingrunError(
        'ERR_EPOCH_UNDER_WAY',
        `TrainingReport.epoch: epoch ${number} started inside epoch ${this.#running.number}. End the loop over epoch ${this.#running.number} first.`,
      );
    }
    this.#begin(number, loader.length, before);
    try {
      yield* timedInput(loader);
    } finally {
      this.#endEpoch();
    }
  }

  /** Reports a completed step. Call it on every rank, inside a loop over `epoch`. */
  async step(report: StepReport): Promise<void> {
    requireOptions('TrainingReport.step', report, stepReportNames);
    const { loss, samples, lr } = report;
    const running = this.#running;
    if (running === undefined) {
      throw new RingrunError(
        'ERR_NO_EPOCH',
        'TrainingReport.step: called outside an epoch. Call it in a loop over report.epoch(number, loader).',
      );
    }
    const [before, step] = [running.samples, running.steps];
    running.steps += 1;
    running.samples += samples;
    const displays = this.#display.isDue(running.before.steps + step);
    const plots = this.writer !== undefined && step % this.#logInterval === 0;
    const isLast = running.before.steps + running.steps === running.of;
    const sends = this.#trainJob !== undefined && (this.#trainJob.isDue || isLast);
    const publishes = figuresPublisher !== undefined && (figuresPublisher.step(samples) || isLast);
    if (displays || plots || sends || publishes) {
      const value = typeof loss === 'number' ? loss : await loss.item();
      if (publishes) this.#publishFigures(running, value, lr);
      if (sends) this.#sendStatus(running, value, lr);
      if (displays) this.#show(running, before, value);
      if (plots) this.#addPoints(running, value, lr);
    }
    this.#profiler?.step();
  }

  /**
   * Adds a point to the curve `tag`, such as an accuracy: to TensorBoard on rank 0 if `dir` is set, and to the
   * dashboard, which shows the curve of the lowest rank that has the tag. The dashboard has room for 64 tags.
   *
   * @param step an integer, the x of the point. Default: `steps`.
   * @throws InvalidArgumentError as `SummaryWriter.addScalar`
   */
  addScalar(tag: string, value: number, step: number = this.steps): void {
    requireScalar('TrainingReport.addScalar', tag, value, step);
    if (this.writer === undefined) writerEvents.emit('scalar', tag, value, step);
    else this.writer.addScalar(tag, value, step);
  }

  /**
   * Writes a histogram of each parameter's current gradient, under `gradients/<name>`. Does nothing without
   * `dir`, and on ranks other than 0, because DistributedDataParallel's gradients are the same on all ranks.
   */
  addGradients(model: ModelWithGradients): void {
    if (this.writer === undefined) return;
    for (const [name, { grad }] of model.namedParameters()) {
      if (grad !== undefined) this.writer.addHistogram(`gradients/${name}`, grad, this.steps);
    }
  }

  /**
   * Closes TensorBoard's file and the trace, gathers the totals of all ranks, and prints the table on rank 0.
   * A collective. Calling it again does nothing.
   *
   * @returns on rank 0, the totals by rank; on other ranks undefined
   */
  async end(): Promise<readonly RankSummary[] | undefined> {
    if (this.#ended) return undefined;
    await (this.#closed ??= this.#close());
    const group = this.#group;
    const ranks = group === undefined ? [this.#summary] : await group.gatherObject(this.#summary);
    this.#ended = true;
    if (ranks !== undefined) this.#output.write(`${closingTable(ranks, this.#unit)}\n`);
    return ranks;
  }

  async #close(): Promise<void> {
    preemptionListeners.delete(this.#onPreemption);
    await this.#profiler?.stop();
    await this.writer?.close();
    await this.#trainJob?.end();
    figuresPublisher?.end();
  }

  /** Without the table and the trace, which take longer than a grace period may last. */
  readonly #onPreemption = async (step: number, verb: string): Promise<void> => {
    if (this.#running !== undefined) this.#display.end();
    await this.writer?.close();
    await this.#trainJob?.endPreempted(step);
    if (isRank0(this.#group)) this.#output.write(`${verb} at step ${step}, checkpoint saved\n`);
  };

  #begin(number: number, steps: number, before: DoneBefore): void {
    const startedAt = performance.now();
    this.#running = {
      number,
      of: steps,
      startedAt,
      before,
      totals: { ...registry.activityTotals },
      steps: 0,
      samples: 0,
    };
    this.#lastPoint = { at: startedAt, samples: 0 };
    const { epochs, samples } = this.#options;
    this.#display.begin({ number, of: epochs, steps, stepsBefore: before.steps, samples });
    figuresPublisher?.begin();
    this.#trainJob?.begin({ epoch: number, epochs, steps: before.steps, stepsOfEpoch: steps });
  }

  #endEpoch(): void {
    const running = this.#running!;
    this.#running = undefined;
    this.#display.end();
    figuresPublisher?.pause();
    const totals = { ...registry.activityTotals };
    const secondsOf = (lane: 'input' | 'compute' | 'waiting') => (totals[lane] - running.totals[lane]) / 1000;
    const seconds = (performance.now() - running.startedAt) / 1000;
    const summary = this.#summary;
    summary.steps += running.steps;
    summary.samples += running.samples;
    summary.seconds += seconds;
    for (const lane of ['input', 'compute', 'waiting'] as const) summary[lane] += secondsOf(lane);
    const rate = (running.samples * this.#ranks) / seconds;
    this.writer?.addScalar(this.#curves.rateOfEpoch, rate, running.number);
  }

  #show(running: Running, samplesBefore: number, loss: number): void {
    const now = this.#progressAt(running, running.steps, running.samples);
    this.#display.show(this.#progressAt(running, running.steps - 1, samplesBefore), now, loss);
  }

  /** Assumes equal shares of all ranks, as with a DistributedSampler. */
  #progressAt({ startedAt, before }: Running, steps: number, samples: number): EpochProgress {
    const samplesPerSecond = (1000 * samples * this.#ranks) / (performance.now() - startedAt);
    return {
      steps: before.steps + steps,
      samples: (before.samples + samples) * this.#ranks,
      samplesPerSecond,
    };
  }

  /** Also reports the last step of an epoch, so that the final status includes it. */
  #sendStatus(running: Running, loss: number, lr: number | undefined): void {
    const { steps, samplesPerSecond } = this.#progressAt(running, running.steps, running.samples);
    const progress = { epoch: running.number, epochs: this.#options.epochs, steps, stepsOfEpoch: running.of };
    const rate = { [`${this.#unit}_per_second`]: samplesPerSecond };
    this.#trainJob?.show(progress, { loss, epoch: running.number, ...rate, learning_rate: lr });
  }

  /** For the dashboard and `ringrun top`. Also the last step of an epoch, so that an evaluation shows the final loss. */
  #publishFigures({ number, of, before, steps }: Running, loss: number, lr: number | undefined): void {
    const { epochs } = this.#options;
    figuresPublisher?.publish({
      unit: this.#unit,
      epoch: number,
      ...(epochs !== undefined && { epochs }),
      stepOfEpoch: before.steps + steps,
      stepsOfEpoch: of,
      step: this.steps,
      loss,
      ...(lr !== undefined && { learningRate: lr }),
    });
  }

  #addPoints(running: Running, loss: number, lr: number | undefined): void {
    const [now, writer] = [performance.now(), this.writer!];
    const rate =
      (1000 * (running.samples - this.#lastPoint.samples) * this.#ranks) / (now - this.#lastPoint.at);
    this.#lastPoint = { at: now, samples: running.samples };
    // The loss was computed before this step's update, so its x is the step from 0.
    const step = this.steps - 1;
    writer.addScalar(this.#curves.loss, loss, step);
    if (lr !== undefined) writer.addScalar(this.#curves.learningRate, lr, step);
    writer.addScalar(this.#curves.rate, rate, step);
  }

  /** The default group changes when ranks die or join. */
  get #group(): ProcessGroup | undefined {
    return this.#options.processGroup ?? registry.defaultGroup ?? this.#firstGroup;
  }

  get #ranks(): number {
    return this.#group?.size ?? 1;
  }
}

function isRank0(group: ProcessGroup | undefined): boolean {
  return group === undefined || group.rank === 0;
}
