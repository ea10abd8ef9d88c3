import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Random numbers of one schedule: the same seed produces the same schedule. */
export class Random {
  readonly #generator;

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
  }

  /** A number in [0, 1). */
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
