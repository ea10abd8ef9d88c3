import { randomNumbers } from '../../../../test/support/random-numbers.ts';
import type { Argument, Options } from './network.ts';

/** Random choices from a seed. */
export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomNumbers(seed);
    // The first numbers of neighbouring seeds are similar.
    for (let i = 0; i < 5; i += 1) this.#next();
  }

  /** An integer from `least` to `most`. */
  int(least: number, most: number): number {
    return least + Math.floor(this.#next() * (Math.max(least, most) - least + 1));
  }

  chance(probability = 0.5): boolean {
    return this.#next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)];
  }

  /** Some of the options, with values drawn for them. */
  some(options: Readonly<Record<string, () => Argument>>): Options {
    return Object.fromEntries(
      Object.entries(options)
        .filter(() => this.chance())
        .map(([name, draw]) => [name, draw()]),
    );
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((item) => ({ item, place: this.#next() }))
      .sort((a, b) => a.place - b.place)
      .map(({ item }) => item);
  }
}
