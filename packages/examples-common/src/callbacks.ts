import type { Callback, TrainedBatch, TrainingContext } from '@ringrun/train';
import { allReduce, barrier, type ProcessGroup } from 'ringrun';
import type { Rate } from './task.ts';

/** Measures the time of training without evaluation, and prints the rate at the end. */
export class Throughput<Batch> implements Callback {
  readonly unit: string;
  readonly #group: ProcessGroup;
  readonly #count: Rate<Batch>['count'] | undefined;
  #startedAt = 0;
  /** The same on all ranks. */
  seconds = 0;
  /** Of this rank. */
  #counted = 0;
  /** Samples per second of all ranks, or what else is counted. */
  perSecond = 0;

  /** @param rate what is counted. Default: samples */
  constructor(group: ProcessGroup, unit: string, rate?: Rate<Batch>) {
    this.#group = group;
    this.unit = rate?.unit ?? unit;
    this.#count = rate?.count;
  }

  async onEpochStart(): Promise<void> {
    await barrier({ group: this.#group });
    this.#startedAt = performance.now();
  }

  onTrainBatchEnd(_training: TrainingContext, { batch, samples }: TrainedBatch): void {
    this.#counted += this.#count ? this.#count(batch as Batch) : samples;
  }

  async onValidationStart(): Promise<void> {
    await barrier({ group: this.#group });
    this.seconds += (performance.now() - this.#startedAt) / 1000;
  }

  async onFitEnd({ log }: TrainingContext): Promise<void> {
    const counted = Float64Array.of(this.#counted);
    await allReduce(counted, { group: this.#group });
    this.perSecond = this.seconds === 0 ? 0 : counted[0] / this.seconds;
    const ranks = rankCount(this.#group.size);
    log(`${this.perSecond.toFixed(0)} ${this.unit}/s on ${ranks} (${this.seconds.toFixed(2)} s of training)`);
  }
}

/** Writes histograms of the gradients after each epoch. */
export const gradientHistograms: Callback = {
  onValidationEnd: ({ modules, report }) => {
    report.addGradients(modules['model']);
  },
};

export function rankCount(ranks: number): string {
  return ranks === 1 ? '1 rank' : `${ranks} ranks`;
}
