import { hostname } from 'node:os';
import { join } from 'node:path';
import { givenPath, requireInteger, requireOptions, RingrunError } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { EventFile, eventFilePath } from './event-file.ts';
import { encodeEvent, sessionStart, textValue, type SummaryValue } from './event.ts';
import { writerEvents } from './events.ts';
import { histogramOf } from './histogram.ts';
import { requireScalar, requireTag, wrongValue } from './values.ts';

/** Options of a {@link SummaryWriter}. */
export interface SummaryWriterOptions {
  /**
   * Folder of this run, created if missing. Default: `runs/<time>_<host>`. To compare runs, put their folders
   * into one parent folder.
   */
  logDir?: string | URL;
  /** Suffix of the file's name. Default: none. */
  filenameSuffix?: string;
  /**
   * After resuming: TensorBoard drops the points that earlier files of the folder have from this step on (torch: purge_step).
   * Default: it shows all.
   */
  purgeStep?: number;
}

const optionNames: OptionNames<SummaryWriterOptions> = {
  logDir: true,
  filenameSuffix: true,
  purgeStep: true,
};

/**
 * Writes event files for TensorBoard (torch.utils.tensorboard.SummaryWriter). View them with `tensorboard
 * --logdir <logDir>`. In a job, create one on rank 0 only.
 *
 * Values are written in the background. A failed write does not end training: its values are lost, and later ones are
 * written as soon as that is possible. One line on stderr reports the first failure and one its end; `failure` has the
 * error. The constructor creates the folder and the file, and throws the file
 * system's error if it cannot.
 */
export class SummaryWriter {
  /** Folder of the event file. */
  readonly logDir: string;
  readonly #file: EventFile;
  #closed = false;

  constructor(options: SummaryWriterOptions = {}) {
    requireOptions('SummaryWriter', options, optionNames);
    const logDir = options.logDir ?? join('runs', `${timestampOf(new Date())}_${hostname()}`);
    this.logDir = givenPath(logDir, 'SummaryWriter: logDir');
    const { purgeStep } = options;
    if (purgeStep !== undefined)
      requireInteger(purgeStep, { who: 'SummaryWriter', what: 'purgeStep', min: 0 });
    const now = secondsNow();
    this.#file = new EventFile(eventFilePath(this.logDir, now, options.filenameSuffix ?? ''));
    this.#file.append(encodeEvent({ wallTime: now, step: purgeStep, fileVersion: 'brain.Event:2' }));
    if (purgeStep !== undefined)
      this.#file.append(
        encodeEvent({ wallTime: now, step: purgeStep, sessionLog: { status: sessionStart } }),
      );
  }

  /** The event file. */
  get path(): string {
    return this.#file.path;
  }

  /** The error of the last write, such as a full disk; undefined if it succeeded. */
  get failure(): Error | undefined {
    return this.#file.failure;
  }

  /**
   * Adds a point to the curve `tag` (torch: add_scalar). Tags with a common prefix, such as `train/loss` and
   * `train/lr`, are shown together. Under a launcher with `--dashboard`, the curve is also on the page.
   *
   * @param step an integer, TensorBoard's x axis. Default: 0.
   * @throws InvalidArgumentError if the tag is not a string, the value is not a number, or the step is not an
   * integer. NaN and infinities are allowed.
   */
  addScalar(tag: string, value: number, step?: number): void {
    requireScalar('SummaryWriter.addScalar', tag, value, step);
    this.#add('addScalar', { tag, simpleValue: value }, step);
    writerEvents.emit('scalar', tag, value, step);
  }

  /**
   * Adds a histogram over TensorBoard's buckets (torch: add_histogram with bins='tensorflow'). NaN and
   * infinities are ignored. Writes nothing if no value is left.
   *
   * @throws InvalidArgumentError as `addScalar`
   */
  addHistogram(tag: string, values: Iterable<number>, step?: number): void {
    const iterable: unknown = values;
    if (typeof iterable !== 'object' || iterable === null || !(Symbol.iterator in iterable)) {
      throw wrongValue('SummaryWriter.addHistogram', `values of ${tag}`, 'an array of numbers', values);
    }
    const histo = histogramOf(values);
    if (histo !== undefined) this.#add('addHistogram', { tag, histo }, step);
  }

  /** Adds a text, shown as Markdown (torch: add_text). */
  addText(tag: string, text: string, step?: number): void {
    this.#add('addText', textValue(tag, text), step);
  }

  /** Resolves when all added values are in the file, or are lost because it cannot be written. */
  async flush(): Promise<void> {
    await this.#file.flush();
  }

  /** Calls `flush` and closes the file. Calling it again does nothing. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }

  #add(who: string, value: SummaryValue, step: number | undefined): void {
    if (this.#closed) {
      throw new RingrunError(
        'ERR_WRITER_CLOSED',
        `SummaryWriter.${who}: the writer of ${this.path} is closed. Add values before calling close().`,
      );
    }
    requireTag(`SummaryWriter.${who}`, value.tag, step);
    this.#file.append(encodeEvent({ wallTime: secondsNow(), step, summary: { value: [value] } }));
  }
}

function secondsNow(): number {
  return Date.now() / 1000;
}

/** Like torch's run names, but sorted by time: `2026-01-31T23-59-59`. */
function timestampOf(time: Date): string {
  return time.toISOString().slice(0, 19).replaceAll(':', '-');
}
