import { givenPath, requireOptions, type OptionNames } from '@ringrun/core';
import { LinesFile } from './lines-file.ts';
import { RankZeroLogger } from './logger.ts';

/** Options of {@link JsonLinesLogger} and {@link CSVLogger}. */
export interface FileLoggerOptions {
  /** The file, whose folder is created if it is missing. A file that exists is continued. */
  path: string | URL;
}

/** Names of {@link FileLoggerOptions}. */
export const fileOptionNames: OptionNames<FileLoggerOptions> = { path: true };

/**
 * Appends a line of JSON for each call: `{"step":100,"time":"2026-01-31T12:00:00.000Z","val/loss":0.06}`. NaN and infinities, which JSON has
 * not, are strings.
 */
export class JsonLinesLogger extends RankZeroLogger {
  readonly #file: LinesFile;

  /** @throws InvalidArgumentError for an unknown option, or a path that is none */
  constructor(options: FileLoggerOptions) {
    super();
    requireOptions('JsonLinesLogger', options, fileOptionNames);
    this.#file = new LinesFile(givenPath(options.path, 'JsonLinesLogger: path'));
  }

  /** Drops the lines after the step. A line that is no JSON, as after a crash of the machine, is dropped too. */
  resume(step: number): void {
    const lines = this.#file.read();
    if (lines.length > 0) this.#file.replace(lines.filter((line) => isUntil(line, step)));
  }

  protected override writeHyperparameters(hyperparameters: Readonly<Record<string, string>>): void {
    this.#append({ hyperparameters });
  }

  protected override writeMetrics(metrics: Readonly<Record<string, number>>, step: number): void {
    this.#append({ step, time: new Date().toISOString(), ...metrics });
  }

  protected override end(): Promise<void> {
    return Promise.resolve();
  }

  #append(values: object): void {
    const text = (_: string, value: unknown) =>
      typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
    this.#file.append(JSON.stringify(values, text));
  }
}

function isUntil(line: string, last: number): boolean {
  try {
    const { step } = JSON.parse(line) as { readonly step?: number };
    return step === undefined || step <= last;
  } catch {
    return false;
  }
}
