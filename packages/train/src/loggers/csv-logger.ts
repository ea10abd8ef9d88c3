import { givenPath, requireOptions } from '@ringrun/core';
import { fileOptionNames, type FileLoggerOptions } from './json-lines-logger.ts';
import { LinesFile } from './lines-file.ts';
import { RankZeroLogger } from './logger.ts';

/**
 * Appends a row for each call of `logMetrics` (Lightning: CSVLogger). The first column is the step; a metric without a value in a row is
 * empty there. A name that is new adds a column, for which the file is written again. Hyperparameters are not recorded.
 */
export class CSVLogger extends RankZeroLogger {
  readonly #file: LinesFile;
  /** Undefined before the first row. */
  #columns: string[] | undefined;

  /** @throws InvalidArgumentError for an unknown option, or a path that is none */
  constructor(options: FileLoggerOptions) {
    super();
    requireOptions('CSVLogger', options, fileOptionNames);
    this.#file = new LinesFile(givenPath(options.path, 'CSVLogger: path'));
  }

  /** Drops the rows after the step. */
  resume(step: number): void {
    const lines = this.#file.read();
    if (lines.length === 0) return;
    this.#file.replace([lines[0], ...lines.slice(1).filter((row) => Number(fieldsOf(row)[0]) <= step)]);
  }

  protected override writeHyperparameters(): void {
    // A row has values of one step.
  }

  protected override writeMetrics(metrics: Readonly<Record<string, number>>, step: number): void {
    if (this.#columns === undefined) {
      const header = this.#file.read().at(0);
      this.#columns = header === undefined ? ['step'] : fieldsOf(header);
    }
    const columns = this.#columns;
    const added = Object.keys(metrics).filter((name) => !columns.includes(name));
    if (added.length > 0) {
      columns.push(...added);
      const empty = ','.repeat(added.length);
      const earlier = this.#file
        .read()
        .slice(1)
        .map((row) => row + empty);
      this.#file.replace([columns.map(quoted).join(','), ...earlier]);
    }
    const values: Readonly<Record<string, number | undefined>> = { ...metrics, step };
    this.#file.append(columns.map((name) => String(values[name] ?? '')).join(','));
  }

  protected override end(): Promise<void> {
    return Promise.resolve();
  }
}

/** As RFC 4180 has it; names have no line breaks. */
function quoted(name: string): string {
  return /[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name.replaceAll(/[\r\n]+/g, ' ');
}

function fieldsOf(row: string): string[] {
  const fields = row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return Array.from(
    fields,
    ([, inQuotes, plain]) => (inQuotes as string | undefined)?.replaceAll('""', '"') ?? plain,
  );
}
