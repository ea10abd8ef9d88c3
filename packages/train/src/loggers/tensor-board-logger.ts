import { requireOptions, type OptionNames } from '@ringrun/core';
import { SummaryWriter } from 'ringrun';
import { RankZeroLogger } from './logger.ts';

/** Options of {@link TensorBoardLogger}. */
export interface TensorBoardLoggerOptions {
  /** Folder for TensorBoard (`tensorboard --logdir <dir>`). Default: `runs/<time>_<host>`. */
  dir?: string | URL;
}

const optionNames: OptionNames<TensorBoardLoggerOptions> = { dir: true };

/**
 * Writes curves for TensorBoard with ringrun's `SummaryWriter` (Lightning: TensorBoardLogger). Under a launcher with
 * `--dashboard`, the curves are also on the page.
 */
export class TensorBoardLogger extends RankZeroLogger {
  readonly #dir: string | URL | undefined;
  #writer: SummaryWriter | undefined;
  #purgeStep: number | undefined;

  constructor(options: TensorBoardLoggerOptions = {}) {
    super();
    requireOptions('TensorBoardLogger', options, optionNames);
    this.#dir = options.dir;
  }

  /**
   * The writer, for histograms and texts. It is made on first use, so use it on rank 0 only.
   *
   * @throws the file system's error if the folder cannot be written
   */
  get writer(): SummaryWriter {
    this.#writer ??= new SummaryWriter({
      ...(this.#dir !== undefined && { logDir: this.#dir }),
      ...(this.#purgeStep !== undefined && { purgeStep: this.#purgeStep }),
    });
    return this.#writer;
  }

  /** TensorBoard drops the points of earlier files after the step. */
  resume(step: number): void {
    this.#purgeStep = step + 1;
  }

  protected override writeHyperparameters(hyperparameters: Readonly<Record<string, string>>): void {
    const rows = Object.entries(hyperparameters).map(([name, text]) => `| ${name} | ${text} |`);
    this.writer.addText('hyperparameters', ['| name | value |', '| --- | --- |', ...rows].join('\n'));
  }

  protected override writeMetrics(metrics: Readonly<Record<string, number>>, step: number): void {
    for (const [name, value] of Object.entries(metrics)) this.writer.addScalar(name, value, step);
  }

  protected override async end(): Promise<void> {
    await this.#writer?.close();
  }
}
