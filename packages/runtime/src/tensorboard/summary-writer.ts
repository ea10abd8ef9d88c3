import { hostname } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError, RingrunError, requireOptions, type OptionNames } from '@ringrun/collectives';
import { EventFile, eventFilePath } from './event-file.ts';
import { encodeEvent, textValue, type SummaryValue } from './event.ts';
import { histogramOf } from './histogram.ts';

export interface SummaryWriterOptions {
  /** The folder of this run, made where it is missing; `runs/<time>_<host>` unless given. Runs that shall be compared have folders side by side. */
  logDir?: string;
  /** What the file's name ends with; nothing unless given. */
  filenameSuffix?: string;
}

const optionNames: OptionNames<SummaryWriterOptions> = { logDir: true, filenameSuffix: true };

/**
 * Writes what TensorBoard shows (torch.utils.tensorboard.SummaryWriter): `tensorboard --logdir <logDir>`. In a job, rank 0 alone makes one.
 *
 * Values are written as they are added, without making the caller wait. A write that fails is said once on stderr and ends the file; training goes on
 * (`failure` says why). The folder and the file are opened by the constructor, which throws the file system's error.
 */
export class SummaryWriter {
  readonly logDir: string;
  readonly #file: EventFile;
  #closed = false;

  constructor(options: SummaryWriterOptions = {}) {
    requireOptions('SummaryWriter', options, optionNames);
    this.logDir = options.logDir ?? join('runs', `${timeInWords(new Date())}_${hostname()}`);
    const now = secondsNow();
    this.#file = new EventFile(eventFilePath(this.logDir, now, options.filenameSuffix ?? ''));
    this.#file.append(encodeEvent({ wallTime: now, fileVersion: 'brain.Event:2' }));
  }

  /** The event file. */
  get path(): string {
    return this.#file.path;
  }

  /** Why nothing is written any more, such as a full disk; undefined while all is well. */
  get failure(): Error | undefined {
    return this.#file.failure;
  }

  /**
   * A number at a step, of the curve `tag`; tags with a common beginning, `train/loss` and `train/lr`, are shown together (torch: add_scalar).
   *
   * @param step an integer; TensorBoard's x axis. Unless given, 0
   * @throws InvalidArgumentError for a tag that is no text, a value that is no number, a step that is no integer. NaN and infinities are shown as such
   */
  addScalar(tag: string, value: number, step?: number): void {
    if (typeof value !== 'number') throw wrong('addScalar', `value of ${tag}`, 'a number', value);
    this.#add('addScalar', { tag, simpleValue: value }, step);
  }

  /**
   * The distribution of numbers at a step, over TensorBoard's own buckets (torch: add_histogram with bins='tensorflow'). NaN and infinities are left out; where
   * nothing is left, nothing is written.
   *
   * @throws InvalidArgumentError as `addScalar`
   */
  addHistogram(tag: string, values: Iterable<number>, step?: number): void {
    const iterable: unknown = values;
    if (typeof iterable !== 'object' || iterable === null || !(Symbol.iterator in iterable)) {
      throw wrong('addHistogram', `values of ${tag}`, 'an array of numbers', values);
    }
    const histo = histogramOf(values);
    if (histo !== undefined) this.#add('addHistogram', { tag, histo }, step);
  }

  /** A text at a step, shown as Markdown (torch: add_text). */
  addText(tag: string, text: string, step?: number): void {
    this.#add('addText', textValue(tag, text), step);
  }

  /** Resolves when what was added is in the file, or the file has failed. */
  async flush(): Promise<void> {
    await this.#file.flush();
  }

  /** `flush`, then the end of the file. Calling it again does nothing. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }

  #add(who: string, value: SummaryValue, step: number | undefined): void {
    if (this.#closed) {
      throw new RingrunError('ERR_WRITER_CLOSED', `${who}: the writer of ${this.path} was closed.`);
    }
    if (typeof value.tag !== 'string' || value.tag === '') {
      throw wrong(who, 'tag', "a text such as 'train/loss'", value.tag);
    }
    if (step !== undefined && !Number.isSafeInteger(step)) throw wrong(who, 'step', 'an integer', step);
    this.#file.append(encodeEvent({ wallTime: secondsNow(), step, summary: { value: [value] } }));
  }
}

function wrong(who: string, what: string, expected: string, given: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    `SummaryWriter.${who}: ${what} is ${String(given)}, expected ${expected}. Nothing was written.`,
  );
}

function secondsNow(): number {
  return Date.now() / 1000;
}

/** As torch names runs, but sorting by time: `2026-01-31T23-59-59`. */
function timeInWords(time: Date): string {
  return time.toISOString().slice(0, 19).replaceAll(':', '-');
}
