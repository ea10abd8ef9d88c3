import { type OptionNames, requireChoice, requireInteger, requireOptions } from '@ringrun/core';
import { optim } from '@ringrun/nn';
import type { MetricsByName } from '../callbacks/callback.ts';
import { monitored } from '../callbacks/monitored.ts';
import type { FitOptions, Models, Scheduler, SchedulerConfig } from './fit-options.ts';

const { ReduceLROnPlateau } = optim.lrScheduler;

const configNames: OptionNames<SchedulerConfig> = {
  scheduler: true,
  interval: true,
  frequency: true,
  monitor: true,
};

/** The schedulers of a training, stepped when they are due. */
export class Schedulers {
  readonly #configs: readonly Required<SchedulerConfig>[];

  /**
   * @param loss name of the loss of a validation
   * @throws InvalidArgumentError for an unknown setting
   */
  constructor(given: FitOptions<Models, unknown>['scheduler'], loss: string) {
    const all = given === undefined ? [] : Array.isArray(given) ? given : [given];
    this.#configs = (all as (Scheduler | SchedulerConfig)[]).map((one) => configOf(one, loss));
  }

  /** By their names in a checkpoint. */
  get registered(): Readonly<Record<string, Scheduler>> {
    const isOne = this.#configs.length === 1;
    return Object.fromEntries(
      this.#configs.map(({ scheduler }, index) => [isOne ? 'scheduler' : `scheduler_${index}`, scheduler]),
    );
  }

  /** Whether a scheduler reads a metric. */
  monitors(name: string): boolean {
    return this.#configs.some(
      ({ scheduler, monitor }) => scheduler instanceof ReduceLROnPlateau && monitor === name,
    );
  }

  /**
   * Steps the schedulers that are due.
   *
   * @param count number of completed epochs or steps
   * @throws InvalidArgumentError if there is no metric for a `ReduceLROnPlateau`
   */
  step(interval: 'epoch' | 'step', count: number, metrics: MetricsByName): void {
    for (const { scheduler, interval: own, frequency, monitor } of this.#configs) {
      if (own !== interval || count % frequency !== 0) continue;
      if (scheduler instanceof ReduceLROnPlateau)
        scheduler.step(monitored('Trainer.fit: ReduceLROnPlateau', metrics, monitor));
      else scheduler.step();
    }
  }
}

function configOf(given: Scheduler | SchedulerConfig, loss: string): Required<SchedulerConfig> {
  if (!('scheduler' in given)) return { scheduler: given, interval: 'epoch', frequency: 1, monitor: loss };
  const who = 'Trainer.fit: scheduler';
  requireOptions(who, given, configNames);
  const { scheduler, interval = 'epoch', frequency = 1, monitor = loss } = given;
  requireChoice(who, 'interval', interval, ['epoch', 'step']);
  requireInteger(frequency, { who, what: 'frequency', min: 1 });
  return { scheduler, interval, frequency, monitor };
}
