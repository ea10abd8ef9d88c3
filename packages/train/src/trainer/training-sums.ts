import type { ProcessGroup } from 'ringrun';
import { overRanks } from '../metrics/state.ts';
import type { LossValue } from './fit-options.ts';

/** The number of a loss. */
export async function numberOf(loss: LossValue): Promise<number> {
  return typeof loss === 'number' ? loss : await loss.item();
}

/** Sums of the losses of an epoch by name, weighted by the samples of their batches. */
export class TrainingSums {
  readonly #sums = new Map<string, number>();
  #samples = 0;

  async add(losses: Readonly<Record<string, LossValue>>, samples: number): Promise<void> {
    for (const [name, loss] of Object.entries(losses))
      this.#sums.set(name, (this.#sums.get(name) ?? 0) + samples * (await numberOf(loss)));
    this.#samples += samples;
  }

  /** The means over all ranks, as `train/<name>`, after which the sums are 0. A collective. */
  async means(group: ProcessGroup | undefined): Promise<Record<string, number>> {
    const names = [...this.#sums.keys()];
    const own = Float64Array.of(...this.#sums.values(), this.#samples);
    const [{ sums }] = await overRanks([{ sums: own, lists: [] }], group);
    this.#sums.clear();
    this.#samples = 0;
    return Object.fromEntries(
      names.map((name, index) => [`train/${name}`, sums[index] / sums[names.length]]),
    );
  }
}
