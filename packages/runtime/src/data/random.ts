import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Random numbers for synthetic data and augmentation. A seed produces the same numbers on every machine. */
export class Random {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  /** @param seed an integer; only its lowest 32 bits are used */
  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
  }

  /** Uniform in [`from`, `to`). */
  uniform(from: number, to: number): number {
    return from + ((this.#generator.next() >>> 0) / 2 ** 32) * (to - from);
  }

  /** An integer, uniform in 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.uniform(0, count));
  }

  /** Normal with mean 0 and standard deviation 1 (Box-Muller). */
  normal(): number {
    // Not 0, whose logarithm is infinite.
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform(0, 1)));
    return radius * Math.cos(2 * Math.PI * this.uniform(0, 1));
  }

  /** The share of one of two numbers from Gamma(`alpha`) in their sum: Beta(`alpha`, `alpha`), from 0 to 1. */
  beta(alpha: number): number {
    // As a difference of logarithms, because both numbers may be too small for a double.
    return 1 / (1 + Math.exp(this.#logGamma(alpha) - this.#logGamma(alpha)));
  }

  /** The logarithm of a number from Gamma(`shape`) (Marsaglia and Tsang, 2000). */
  #logGamma(shape: number): number {
    if (shape < 1) return this.#logGamma(shape + 1) + Math.log(1 - this.uniform(0, 1)) / shape;
    const d = shape - 1 / 3;
    for (;;) {
      const x = this.normal();
      const v = (1 + x / Math.sqrt(9 * d)) ** 3;
      if (v > 0 && Math.log(1 - this.uniform(0, 1)) < (x * x) / 2 + d - d * v + d * Math.log(v))
        return Math.log(d) + Math.log(v);
    }
  }

  /**
   * Approximately normal with mean 0 and standard deviation `deviation`, bounded by 3 deviations: the sum of
   * three uniform numbers.
   */
  bell(deviation: number): number {
    return (
      this.uniform(-deviation, deviation) +
      this.uniform(-deviation, deviation) +
      this.uniform(-deviation, deviation)
    );
  }
}

/**
 * An integer, uniform in 0 to `count` - 1, that depends only on `numbers`, integers. 53 bits: `count` may exceed 2^32.
 */
export function below(count: number, ...numbers: readonly number[]): number {
  const bits = mixed(...numbers, 0) * 2 ** 21 + (mixed(...numbers, 1) >>> 11);
  return Math.floor((bits / 2 ** 53) * count);
}

/** Hashes nonnegative integers to 32 bits (MurmurHash3 over their 32-bit halves). */
export function mixed(...numbers: readonly number[]): number {
  let hash = 0;
  for (const number of numbers) {
    for (const word of [number % 2 ** 32, Math.floor(number / 2 ** 32)]) {
      const scrambled = Math.imul(rotated(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);
      hash = Math.imul(rotated(hash ^ scrambled, 13), 5) + 0xe6546b64;
    }
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
