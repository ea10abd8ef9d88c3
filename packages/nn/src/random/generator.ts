import { mersenne } from 'pure-rand/generator/mersenne';

/**
 * The numbers that torch's CPU generator gives: mt19937, and uniform floats from its lowest 24 bits (at::uniform_real_distribution).
 * The same seed and the same sequence of calls give the same parameters as in PyTorch.
 */
export class Generator {
  #state: ReturnType<typeof mersenne>;

  constructor(seed: number) {
    this.#state = mersenne(seed % 2 ** 32);
  }

  /** Starts again from `seed`, an integer of 32 bits. */
  manualSeed(seed: number): void {
    this.#state = mersenne(seed % 2 ** 32);
  }

  /** Fills with numbers uniform in [low, high). */
  fillUniform(array: Float32Array, low: number, high: number): void {
    const start = Math.fround(low);
    const range = Math.fround(Math.fround(high) - start);
    for (let i = 0; i < array.length; i += 1) {
      // Computed in double and rounded once, by the array.
      array[i] = (this.#state.next() & 0xffffff) * 2 ** -24 * range + start;
    }
  }
}

/** What modules draw their initial parameters from. Differs from process to process until `manualSeed` is called, as torch's does. */
export const defaultGenerator = new Generator(Math.floor(Math.random() * 2 ** 32));

/** Seeds the default generator (torch.manual_seed): the modules made after it get the same parameters in every process. */
export function manualSeed(seed: number): void {
  defaultGenerator.manualSeed(seed);
}
