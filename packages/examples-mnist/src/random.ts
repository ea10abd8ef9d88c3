/** A small seeded generator (sfc32 of Chris Doty-Humphrey's PractRand): the same numbers for one seed on every machine. */
export class Random {
  #a: number;
  #b = 0x9e3779b9;
  #c = 0x243f6a88;
  #counter = 1;

  /** `seed`: an integer, of which the lowest 32 bits count. */
  constructor(seed: number) {
    this.#a = seed | 0;
    // The words of close seeds are close until they have been mixed.
    for (let round = 0; round < 12; round++) this.#nextInt32();
  }

  /** Uniform in `from` to `to`, without `to`. */
  uniform(from: number, to: number): number {
    return from + ((this.#nextInt32() >>> 0) / 2 ** 32) * (to - from);
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

  #nextInt32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum;
  }
}
