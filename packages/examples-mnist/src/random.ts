import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Random numbers in the shapes that drawing needs: the same ones for one seed on every machine. */
export class Random {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  /** `seed`: an integer, of which the lowest 32 bits count. */
  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
  }

  /** Uniform in `from` to `to`, without `to`. */
  uniform(from: number, to: number): number {
    return from + ((this.#generator.next() >>> 0) / 2 ** 32) * (to - from);
  }

  /** An integer, uniform in 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.uniform(0, count));
  }

  /** Bell-shaped around 0, of variance `deviation` squared and never beyond 3 deviations: the sum of three uniform numbers. */
  bell(deviation: number): number {
    return (
      this.uniform(-deviation, deviation) +
      this.uniform(-deviation, deviation) +
      this.uniform(-deviation, deviation)
    );
  }
}
