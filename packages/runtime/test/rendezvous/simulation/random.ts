import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Chances of one schedule: the same seed gives the same schedule. */
export class Random {
  readonly #generator;

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
  }

  /** From 0 up to 1. */
  next(): number {
    return (this.#generator.next() >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  integer(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }
}
