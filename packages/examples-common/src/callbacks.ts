import type { Callback, TrainingContext } from '@ringrun/train';
import { barrier, type ProcessGroup } from 'ringrun';

/** Measures the time of training without evaluation, and prints the rate at the end. */
export class Throughput implements Callback {
  readonly #group: ProcessGroup;
  #startedAt = 0;
  /** The same on all ranks. */
  seconds = 0;
  /** Of all ranks, which have equal shares. */
  images = 0;

  constructor(group: ProcessGroup) {
    this.#group = group;
  }

  get imagesPerSecond(): number {
    return this.seconds === 0 ? 0 : this.images / this.seconds;
  }

  async onEpochStart(): Promise<void> {
    await barrier({ group: this.#group });
    this.#startedAt = performance.now();
  }

  onTrainBatchEnd(_training: TrainingContext, { samples }: { readonly samples: number }): void {
    this.images += samples * this.#group.size;
  }

  async onValidationStart(): Promise<void> {
    await barrier({ group: this.#group });
    this.seconds += (performance.now() - this.#startedAt) / 1000;
  }

  onFitEnd({ log }: TrainingContext): void {
    const rate = this.imagesPerSecond.toFixed(0);
    log(`${rate} images/s on ${counted(this.#group.size)} (${this.seconds.toFixed(2)} s of training)`);
  }
}

/** Writes histograms of the gradients after each epoch. */
export const gradientHistograms: Callback = {
  onValidationEnd: ({ modules, report }) => {
    report.addGradients(modules['model']);
  },
};

export function counted(ranks: number): string {
  return ranks === 1 ? '1 rank' : `${ranks} ranks`;
}
