import { requireOptions, type OptionNames, type Output } from '@ringrun/core';
import { RankZeroLogger } from './logger.ts';

/** Options of {@link ConsoleLogger}. */
export interface ConsoleLoggerOptions {
  /** Where lines are written. Default: standard output. */
  output?: Output;
}

const optionNames: OptionNames<ConsoleLoggerOptions> = { output: true };

/** Prints a line for each call: `step 100: val/loss 0.0612, val/accuracy 0.9812`. */
export class ConsoleLogger extends RankZeroLogger {
  readonly #output: Output;

  constructor(options: ConsoleLoggerOptions = {}) {
    super();
    requireOptions('ConsoleLogger', options, optionNames);
    this.#output = options.output ?? process.stdout;
  }

  protected override writeHyperparameters(hyperparameters: Readonly<Record<string, string>>): void {
    this.#line('hyperparameters', Object.entries(hyperparameters));
  }

  protected override writeMetrics(metrics: Readonly<Record<string, number>>, step: number): void {
    const values = Object.entries(metrics).map(([name, value]) => [name, shortened(value)] as const);
    this.#line(`step ${step}`, values);
  }

  protected override end(): Promise<void> {
    return Promise.resolve();
  }

  #line(title: string, values: readonly (readonly [name: string, text: string])[]): void {
    this.#output.write(`${title}: ${values.map(([name, text]) => `${name} ${text}`).join(', ')}\n`);
  }
}

/** Four digits after the point, or four significant ones for a small number such as a learning rate. */
function shortened(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) < 1e-3 ? value.toPrecision(4) : value.toFixed(4);
}
