import { requireInteger } from './require-integer.ts';

/** Counts the epochs of a sampler: one per iteration, unless the user sets it. */
export class EpochCounter {
  readonly #owner: string;
  #next = 0;

  constructor(owner: string) {
    this.#owner = owner;
  }

  set(epoch: number): void {
    this.#next = requireInteger(epoch, { who: `${this.#owner}.setEpoch`, what: 'epoch', min: 0 });
  }

  /** The epoch of the iteration that begins now. */
  take(): number {
    return this.#next++;
  }
}
