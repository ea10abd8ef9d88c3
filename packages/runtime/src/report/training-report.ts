import { hostname } from 'node:os';
import { RingrunError, type ProcessGroup, requireOptions, type OptionNames } from '@ringrun/collectives';
import { requireInteger } from '../data/require-integer.ts';
import { currentState } from '../process-group/state.ts';
import { totalsSoFar, type Totals } from '../profiler/activity.ts';
import { profile, timedInput, type Profiler } from '../profiler/index.ts';
import { SummaryWriter } from '../tensorboard/index.ts';
import { closingTable, type RankSummary } from './closing-table.ts';
import { leaveTellingToReport } from './train-job/counted-steps.ts';
import { trainerServerIn } from './train-job/server-variables.ts';
import type { TrainJobProgress } from './train-job/train-job-progress.ts';
import { noProgress, progressOn, type Output, type Progress, type Standing } from './progress.ts';

export interface TrainingReportOptions {
  /** Samples in an epoch, over all ranks. */
  samples: number;
  /** Epochs that there will be; shown beside the present one where it is given. */
  epochs?: number;
  /** What samples are called; `'samples'` unless given. */
  unit?: string;
  /** Steps between two lines of a log, and between two points of TensorBoard's curves; 10 unless given. */
  logInterval?: number;
  /** A folder for TensorBoard: `tensorboard --logdir <dir>`. Nothing is written unless given. */
  dir?: string | undefined;
  /** A file for a trace of every rank, of 50 steps after the first 5; see `profile`. Nothing is recorded unless given. */
  profile?: string | undefined;
  /** Where lines and the table go; standard output unless given. */
  output?: Output;
  /** The ranks that train together; the default group unless given, this process alone without one. */
  processGroup?: ProcessGroup;
  /** Steps that a training which is resumed had made, where the curves go on; 0 unless given. */
  stepsBefore?: number;
}

/** What of an epoch a training had done that is resumed in its middle. */
export interface DoneBefore {
  steps: number;
  /** Of this rank. */
  samples: number;
}

/** What a step has to say. */
export interface StepReport {
  /** A number, or a loss whose `backward` has ended. Read where it is shown, not in every step. */
  loss: number | { item(): Promise<number> };
  /** Samples in this rank's batch. */
  samples: number;
  /** The learning rate, for TensorBoard. */
  lr?: number;
}

/** Of a model, to show how its gradients are distributed. */
export interface ModelWithGradients {
  namedParameters(): Iterable<[string, { readonly grad: Iterable<number> | undefined }]>;
}

const optionNames: OptionNames<TrainingReportOptions> = {
  samples: true,
  epochs: true,
  unit: true,
  logInterval: true,
  dir: true,
  profile: true,
  output: true,
  processGroup: true,
  stepsBefore: true,
};
const stepNames: OptionNames<StepReport> = { loss: true, samples: true, lr: true };

/**
 * What people see of a training: progress, TensorBoard's curves, a trace, and a table at the end. Rank 0 writes; the others measure. A collective where `profile`
 * is given. In the pod of a TrainJob (KUBEFLOW_TRAINER_SERVER_URL, …_CA_CERT and …_TOKEN are set) rank 0 also tells Kubeflow Trainer, every 5 s and at the end:
 * the part that is done and the time left where `epochs` is given, and loss, epoch, rate and learning rate.
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
 * @throws InvalidArgumentError for counts that are none; on rank 0 the file system's error for a folder that cannot be written to; on
 * every rank InvalidArgumentError for such a trace
 */
export async function trainingReport(options: TrainingReportOptions): Promise<TrainingReport> {
  const who = 'trainingReport';
  requireOptions(who, options, optionNames);
  requireInteger(options.samples, { who, what: 'samples', min: 0 });
  requireInteger(options.logInterval ?? 10, { who, what: 'logInterval', min: 1 });
  requireInteger(options.stepsBefore ?? 0, { who, what: 'stepsBefore', min: 0 });
  const group = options.processGroup ?? groupNow();
  const writer =
    options.dir !== undefined && isFirst(group) ? new SummaryWriter({ logDir: options.dir }) : undefined;
  const profiler = options.profile === undefined ? undefined : await profile({ path: options.profile });
  const trainJob = isFirst(group) ? await openTrainJobProgress() : undefined;
  return new TrainingReport(options, { group, writer, profiler, trainJob });
}

/** In the pod of a TrainJob whose operator wants to hear of progress. */
async function openTrainJobProgress(): Promise<TrainJobProgress | undefined> {
  const server = trainerServerIn(process.env);
  if (server === undefined) return undefined;
  leaveTellingToReport();
  const { TrainJobProgress } = await import('./train-job/train-job-progress.ts');
  return new TrainJobProgress(server);
}

interface Parts {
  group: ProcessGroup | undefined;
  writer: SummaryWriter | undefined;
  profiler: Profiler | undefined;
  trainJob: TrainJobProgress | undefined;
}

/** An epoch that is under way. */
interface Running {
  readonly number: number;
  /** Batches of this rank. */
  readonly of: number;
  readonly startedAt: number;
  readonly before: DoneBefore;
  readonly totals: Totals;
  steps: number;
  /** Of this rank. */
  samples: number;
}

/** What `trainingReport` gives. */
export class TrainingReport {
  /** TensorBoard's file, for what else is to be in it; undefined without `dir`, and on ranks other than 0. */
  readonly writer: SummaryWriter | undefined;
  readonly #options: TrainingReportOptions;
  readonly #group: ProcessGroup | undefined;
  readonly #profiler: Profiler | undefined;
  readonly #trainJob: TrainJobProgress | undefined;
  readonly #output: Output;
  readonly #unit: string;
  readonly #logInterval: number;
  readonly #progress: Progress;
  readonly #summary: RankSummary;
  #running: Running | undefined;
  /** When, and with how many samples of this rank in the epoch, the last point of the curves was. */
  #lastPoint = { at: 0, samples: 0 };
  #ended = false;

  /** Made by `trainingReport`. */
  constructor(options: TrainingReportOptions, { group, writer, profiler, trainJob }: Parts) {
    const { output = process.stdout, unit = 'samples', logInterval = 10 } = options;
    this.writer = writer;
    this.#options = options;
    this.#group = group;
    this.#profiler = profiler;
    this.#trainJob = trainJob;
    this.#output = output;
    this.#unit = unit;
    this.#logInterval = logInterval;
    this.#progress = isFirst(group) ? progressOn(output, { logInterval, unit }) : noProgress;
    const nothing = { steps: 0, samples: 0, seconds: 0, input: 0, compute: 0, waiting: 0 };
    this.#summary = { rank: group?.rank ?? 0, host: hostname(), ...nothing };
  }

  /** Steps so far, in all epochs, and in those of a training that is resumed: the x axis of the curves. */
  get steps(): number {
    return (this.#options.stepsBefore ?? 0) + this.#summary.steps + (this.#running?.steps ?? 0);
  }

  /**
   * The batches of one epoch; how long the loop waits for each is measured.
   *
   * @param number of the epoch, from 1
   * @param loader its `length` is the number of batches
   * @param before what of the epoch was done before, where the loader goes on in its middle
   * @throws RingrunError `ERR_EPOCH_UNDER_WAY` inside of another epoch
   */
  async *epoch<Batch>(
    number: number,
    loader: { readonly length: number } & (Iterable<Batch> | AsyncIterable<Batch>),
    before: DoneBefore = { steps: 0, samples: 0 },
  ): AsyncGenerator<Batch, void> {
    if (this.#running !== undefined) {
      throw new RingrunError(
        'ERR_EPOCH_UNDER_WAY',
        `epoch ${number} was begun inside of epoch ${this.#running.number}: end the loop over that one first.`,
      );
    }
    this.#begin(number, loader.length, before);
    try {
      yield* timedInput(loader);
    } finally {
      this.#endEpoch();
    }
  }

  /** A step is over. Called by every rank, inside of a loop over `epoch`. */
  async step(report: StepReport): Promise<void> {
    requireOptions('TrainingReport.step', report, stepNames);
    const { loss, samples, lr } = report;
    const running = this.#running;
    if (running === undefined) {
      throw new RingrunError(
        'ERR_NO_EPOCH',
        'step was called outside of an epoch: call it in a loop over report.epoch(number, loader).',
      );
    }
    const [before, step] = [running.samples, running.steps];
    running.steps += 1;
    running.samples += samples;
    const shows = this.#progress.isDue(running.before.steps + step);
    const draws = this.writer !== undefined && step % this.#logInterval === 0;
    const isLast = running.before.steps + running.steps === running.of;
    const tells = this.#trainJob !== undefined && (this.#trainJob.isDue || isLast);
    if (shows || draws || tells) {
      const value = typeof loss === 'number' ? loss : await loss.item();
      if (tells) this.#tell(running, value, lr);
      if (shows) this.#show(running, before, value);
      if (draws) this.#draw(running, value, lr);
    }
    this.#profiler?.step();
  }

  /**
   * Histograms of the gradients that the last step has left, one for each parameter, under `gradients/<name>`. Does nothing without `dir`, and on ranks other than
   * 0: those of DistributedDataParallel are the same on all.
   */
  addGradients(model: ModelWithGradients): void {
    if (this.writer === undefined) return;
    for (const [name, { grad }] of model.namedParameters()) {
      if (grad !== undefined) this.writer.addHistogram(`gradients/${name}`, grad, this.steps);
    }
  }

  /**
   * Ends TensorBoard's file and the trace, gathers what each rank has counted, and prints the table on rank 0. A collective. Calling it again does nothing.
   *
   * @returns on rank 0 what each rank has counted, by rank; elsewhere undefined
   */
  async end(): Promise<readonly RankSummary[] | undefined> {
    if (this.#ended) return undefined;
    this.#ended = true;
    await this.#profiler?.stop();
    await this.writer?.close();
    await this.#trainJob?.end();
    const group = this.#group;
    const ranks = group === undefined ? [this.#summary] : await group.gatherObject(this.#summary);
    if (ranks !== undefined) this.#output.write(`${closingTable(ranks, this.#unit)}\n`);
    return ranks;
  }

  #begin(number: number, steps: number, before: DoneBefore): void {
    const startedAt = performance.now();
    this.#running = { number, of: steps, startedAt, before, totals: totalsSoFar(), steps: 0, samples: 0 };
    this.#lastPoint = { at: startedAt, samples: 0 };
    const { epochs, samples } = this.#options;
    this.#progress.begin({ number, of: epochs, steps, stepsBefore: before.steps, samples });
    this.#trainJob?.begin({ epoch: number, epochs, steps: before.steps, stepsOfEpoch: steps });
  }

  #endEpoch(): void {
    const running = this.#running!;
    this.#running = undefined;
    this.#progress.end();
    const totals = totalsSoFar();
    const secondsOf = (lane: 'input' | 'compute' | 'waiting') => (totals[lane] - running.totals[lane]) / 1000;
    const seconds = (performance.now() - running.startedAt) / 1000;
    const summary = this.#summary;
    summary.steps += running.steps;
    summary.samples += running.samples;
    summary.seconds += seconds;
    for (const lane of ['input', 'compute', 'waiting'] as const) summary[lane] += secondsOf(lane);
    const rate = (running.samples * this.#ranks) / seconds;
    this.writer?.addScalar(`epoch/${this.#unit}_per_second`, rate, running.number);
  }

  #show(running: Running, samplesBefore: number, loss: number): void {
    const now = this.#standing(running, running.steps, running.samples);
    this.#progress.show(this.#standing(running, running.steps - 1, samplesBefore), now, loss);
  }

  /** Ranks have equal shares, as a DistributedSampler gives them. */
  #standing({ startedAt, before }: Running, steps: number, samples: number): Standing {
    const samplesPerSecond = (1000 * samples * this.#ranks) / (performance.now() - startedAt);
    return {
      steps: before.steps + steps,
      samples: (before.samples + samples) * this.#ranks,
      samplesPerSecond,
    };
  }

  /** The last step of an epoch is told of too, so that the last status of all has it. */
  #tell(running: Running, loss: number, lr: number | undefined): void {
    const { steps, samplesPerSecond } = this.#standing(running, running.steps, running.samples);
    const standing = { epoch: running.number, epochs: this.#options.epochs, steps, stepsOfEpoch: running.of };
    const rate = { [`${this.#unit}_per_second`]: samplesPerSecond };
    this.#trainJob?.show(standing, { loss, epoch: running.number, ...rate, learning_rate: lr });
  }

  #draw(running: Running, loss: number, lr: number | undefined): void {
    const [now, writer] = [performance.now(), this.writer!];
    const rate =
      (1000 * (running.samples - this.#lastPoint.samples) * this.#ranks) / (now - this.#lastPoint.at);
    this.#lastPoint = { at: now, samples: running.samples };
    // The step that the loss belongs to, from 0: the update that it led to is not in it.
    const step = this.steps - 1;
    writer.addScalar('train/loss', loss, step);
    if (lr !== undefined) writer.addScalar('train/learning_rate', lr, step);
    writer.addScalar(`train/${this.#unit}_per_second`, rate, step);
  }

  get #ranks(): number {
    return this.#group?.size ?? 1;
  }
}

function groupNow(): ProcessGroup | undefined {
  const state = currentState();
  return state.phase === 'ready' ? state.session.group : undefined;
}

function isFirst(group: ProcessGroup | undefined): boolean {
  return group === undefined || group.rank === 0;
}
